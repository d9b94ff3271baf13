package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// parallel calls f for each number below n, on as many goroutines as there are processors. Each call is a
// step of p.
func parallel(n int, p *progress, f func(int)) {
	p.expect(n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
				p.add(1)
			}
		}()
	}
	workers.Wait()
}

// writeTable writes rows of cells, of which the first is a name, and an empty line after them.
func writeTable(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(w, "%*s", widths[i+1]+2, cell)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// progress says how far the work is, on a terminal, once it has taken longer than a second. Any
// number of goroutines may use one.
type progress struct {
	terminal io.Writer // nil if there is none
	name     string

	mu          sync.Mutex
	next        time.Time // when to say more
	done, total int
	shown       bool
}

// newProgress returns a progress that is silent unless w is a terminal.
func newProgress(name string, w io.Writer) *progress {
	p := &progress{name: name, next: time.Now().Add(time.Second)}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.terminal = w
		}
	}
	return p
}

// expect adds to the steps that there are.
func (p *progress) expect(steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total += steps
}

// add adds to the steps that are done.
func (p *progress) add(steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += steps
	if p.terminal == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(200 * time.Millisecond)
	p.shown = true
	fmt.Fprintf(p.terminal, "\r%s: %3d %%", p.name, p.done*100/p.total)
}

// clear wipes the line, to make place for the result.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.terminal, "\r\033[K")
	}
}
