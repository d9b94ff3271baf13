// Package pages_test holds the pages of this repository to what they say: links lead somewhere, code compiles and
// runs, tables have the figures that their command prints.
package pages_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the repository.
var root = os.DirFS("../..")

// read returns the text of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(root, name)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// files returns the names of all files that end in suffix, but not those in folders whose names start with a dot.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && len(name) > 1 && name[0] == '.':
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, suffix):
			names = append(names, name)
		}
		return nil
	})
	require.NoError(t, err)
	return names
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	pageLink  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	plain     = regexp.MustCompile(`^[\w-]+$`)
)

// anchors returns the anchors of a page's headings.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		title := strings.NewReplacer("`", "", ",", "", "'", "", " ", "-").Replace(h[1])
		found[strings.ToLower(title)] = true
	}
	return found
}

// Each relative link leads to a file, and each anchor to a heading.
func TestLinks(t *testing.T) {
	pages := map[string]string{}
	for _, name := range files(t, ".md") {
		pages[name] = codeBlock.ReplaceAllString(read(t, name), "")
	}

	for page, text := range pages {
		for _, link := range pageLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			file, anchor, hasAnchor := strings.Cut(link[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			_, err := fs.Stat(root, target)
			if err != nil {
				t.Errorf("%s links to %s, which is no file", page, link[1])
			}
			if hasAnchor && !(plain.MatchString(anchor) && anchors(pages[target])[anchor]) {
				t.Errorf("%s links to %s, which is no heading", page, link[1])
			}
		}
	}
}
