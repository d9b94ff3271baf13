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
	for _, op := range c.repeated {
		c.eachAttempt(op)
	}
	for cur := range root.Preorder((*ast.CallExpr)(nil), (*ast.Ident)(nil), (*ast.CompositeLit)(nil)) {
		if c.inTest(cur.Node()) {
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
		}
	}
	return nil, nil
}

// call applies the rules to the call at cur.
func (c *checker) call(cur inspector.Cursor, call *ast.CallExpr) {
	c.makes(cur, call)
	c.printed(cur, call)
	if assign, ok := cur.Parent().Node().(*ast.AssignStmt); ok && c.transport(call) != nil {
		c.unread(outermost(cur).Node(), assign)
	}
	if r, op := c.retrier(call); r != nil {
		c.byRetrier(cur, call, r, op)
		return
	}

	name, version := c.callee(call)
	if version == 0 {
		return
	}

	if name == "NextBackOff" {
		policy := ast.Unparen(call.Fun).(*ast.SelectorExpr).X
		p := c.policy(policy)
		c.shared(cur, policy, p, true)
		c.interval(p, version)
		if version < 5 { // from v5 on no policy stops
			c.wait(cur, p)
		}
		return
	}
	if name == "Attempts" && len(call.Args) == 2 {
		c.unset(cur, call)
	}

	if policy := loopPolicy(call, name, version); policy != nil {
		p := c.policy(policy)
		c.shared(cur, policy, p, false)
		c.stop(policy, p)
		if version < 5 {
			c.context(cur, call, policy, p)
		}
		if ctx := p.set["WithContext"]; version == own && len(ctx) == 1 {
			c.failed(cur, ctx[0], call.Args[0], false)
		}
	}
}

// byRetrier applies the rules for Retriers to the call by r at cur, whose operation is op.
func (c *checker) byRetrier(cur inspector.Cursor, call *ast.CallExpr, r, op ast.Expr) {
	ctx := call.Args[0]
	c.nested(r, op)
	c.multiplied(r, op)
	c.attempt(cur, r, op)
	c.final(r, op)
	c.leaving(call, r, op)
	c.deferred(cur, ctx)
	c.again(cur)
	if c.name(call.Fun) == "example.com/backoff/sqlretry.Do" {
		c.transaction(call.Args[1], op)
		op = nil
	}
	if p := c.policy(r); p.unknown || p.set["Retryable"] != nil {
		op = nil
	}
	c.failed(cur, ctx, op, !c.once(r))
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
