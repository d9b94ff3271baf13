// Package vet finds misuse of backoff policies and Retriers that compiles: a policy that several loops share, a loop
// that outlives its context, a wait that is none, slots for a single call. It knows example.com/backoff and every major
// version of github.com/cenkalti/backoff.
package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer applies the rules that README.md lists. Each message ends with its rule's name.
var Analyzer = &analysis.Analyzer{
	Name:     "backoff",
	Doc:      "report misuse of backoff policies and Retriers\n\nLoops share a policy or outlive their context, or waits and settings are not what they seem.",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      run,
}

// own is the version of example.com/backoff.
const own = -1

// version returns the version of the library that pkg is, or 0 if it is another package. The versions of
// github.com/cenkalti/backoff are 1 to 7; v0 and v2 share the import path of v1.
func version(pkg *types.Package) int {
	if pkg.Path() == "example.com/backoff" {
		return own
	}
	suffix := strings.TrimPrefix(pkg.Path(), "github.com/cenkalti/backoff")
	return 1 + slices.Index([]string{"", "/v2", "/v3", "/v4", "/v5", "/v6", "/v7"}, suffix)
}

func run(pass *analysis.Pass) (any, error) {
	root := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root()
	c := newChecker(pass, root)
	for cur := range root.Preorder((*ast.CallExpr)(nil), (*ast.Ident)(nil), (*ast.CompositeLit)(nil), (*ast.UnaryExpr)(nil)) {
		// What is wrong in a test ends with it.
		if strings.HasSuffix(pass.Fset.File(cur.Node().Pos()).Name(), "_test.go") {
			continue
		}

		switch node := cur.Node().(type) {
		case *ast.CallExpr:
			c.call(cur, node)
		case *ast.Ident:
			c.field(cur, node)
			c.declares(cur, node)
		case *ast.CompositeLit:
			c.forOneCall(cur, typeName(c.TypesInfo.TypeOf(node)), node)
		case *ast.UnaryExpr:
			c.ticker(cur, node)
		}
	}
	return nil, nil
}

// call applies the rules to the call at cur.
func (c *checker) call(cur inspector.Cursor, call *ast.CallExpr) {
	c.makes(cur, call)
	if retrier, op := c.retrier(call); retrier != nil {
		c.nested(retrier, op)
		c.attempt(cur, retrier, op)
		return
	}

	name, version := c.callee(call)
	if version == 0 {
		c.wait(cur, call)
		return
	}
	c.unused(cur, call, name)

	if name == "NextBackOff" {
		policy := ast.Unparen(call.Fun).(*ast.SelectorExpr).X
		p := c.policy(policy)
		c.shared(cur, policy, p, true)
		c.interval(p, version)
		return
	}

	if policy := loopPolicy(call, name, version); policy != nil {
		p := c.policy(policy)
		c.shared(cur, policy, p, false)
		c.stop(policy, p)
		if version < 5 {
			c.context(cur, call, policy, p)
		}
	}
}

// loopPolicy returns the argument of a call that becomes the policy of a loop, or nil.
func loopPolicy(call *ast.CallExpr, name string, version int) ast.Expr {
	if strings.HasPrefix(name, "NewTicker") || name == "Attempts" || name == "WithBackOff" {
		return call.Args[0]
	}

	retry := strings.HasPrefix(name, "Retry") && name != "RetryAfter"
	if retry && version < 5 && len(call.Args) > 1 {
		return call.Args[1]
	}
	return nil
}
