// Package vet finds misuse of backoff policies that compiles: a policy shared by loops that run at
// once, a loop that outlives its context, a wait that is none. It knows example.com/backoff and every
// major version of github.com/cenkalti/backoff.
package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// Analyzer applies the rules that README.md lists.
var Analyzer = &analysis.Analyzer{
	Name: "backoff",
	Doc: "report misuse of backoff policies\n\nPolicies shared by loops that run at once, loops that outlive their " +
		"context, waits of -1, and settings of an ExponentialBackOff that do not do what they say.",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      run,
}

// own is the version of example.com/backoff. Those of github.com/cenkalti/backoff are 1 to 7; v0 and
// v2 share the import path of v1. Other packages have 0. Below v5, a loop has no context but its
// policy's.
const own = -1

func version(pkg *types.Package) int {
	if pkg != nil && pkg.Path() == "example.com/backoff" {
		return own
	} else if pkg == nil || !strings.HasPrefix(pkg.Path(), "github.com/cenkalti/backoff") {
		return 0
	}
	return 1 + slices.Index([]string{"", "/v2", "/v3", "/v4", "/v5", "/v6", "/v7"}, pkg.Path()[len("github.com/cenkalti/backoff"):])
}

func run(pass *analysis.Pass) (any, error) {
	if !slices.ContainsFunc(pass.Pkg.Imports(), func(p *types.Package) bool { return version(p) != 0 }) {
		return nil, nil
	}
	c := &checker{pass, pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(), map[fact][]ast.Expr{}}
	c.learn()
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		if strings.HasSuffix(pass.Fset.Position(call.Pos()).Filename, "_test.go") {
			continue // what is wrong in a test ends with it
		}
		name, v, recv := c.callee(call)
		if v == 0 {
			c.wait(cur, call)
		} else if name == "NextBackOff" && recv != nil {
			c.shared(cur, recv, true)
			c.unset(recv, v)
		} else if e := loopPolicy(call, name, v); e != nil {
			c.shared(cur, e, false)
			c.endless(e, v)
			c.context(cur, call.Args[0], e)
		}
	}
	return nil, nil
}

// loopPolicy returns the argument of a call that becomes the policy of a loop.
func loopPolicy(call *ast.CallExpr, name string, v int) ast.Expr {
	switch {
	case strings.HasPrefix(name, "NewTicker"), name == "Attempts", name == "WithBackOff":
		return call.Args[0]
	case strings.HasPrefix(name, "Retry") && v < 5 && len(call.Args) > 1:
		return call.Args[1]
	}
	return nil
}

// shared reports the policy e of a loop at cur if another loop can run it at the same time.
func (c *checker) shared(cur inspector.Cursor, e ast.Expr, byHand bool) {
	for _, v := range c.policy(e).way {
		if scope := v.Parent(); scope != nil && scope != c.Pkg.Scope() && !scope.Contains(e.Pos()) {
			continue // a variable of another function
		}
		p := &policy{checker: c}
		p.from(v)
		exponential := v.Kind() == types.ParamVar && typeName(v.Type()) == "backoff.ExponentialBackOff"
		if (p.stateful && !p.unknown || exponential) && c.concurrent(cur, v, byHand && v.IsField()) {
			c.Reportf(e.Pos(), "loops that run at once share the policy in %s, which holds the state of one: build one for each", v.Name())
			return
		}
	}
}

var (
	handler = regexp.MustCompile(`^func\(.*\*net/http\.Request`)
	worker  = regexp.MustCompile(`^func\(\w+ context\.Context, `)               // for one caller among many
	hook    = regexp.MustCompile(`^func\((\w+ )?int\) time\.Duration$`)         // called from all of a client's goroutines
	context = regexp.MustCompile(`^func\([^()]*?\b([a-z]\w*) context\.Context`) // with a name
)

// concurrent reports whether a function around cur, outside of which v is declared, runs more than
// once at a time, without a lock. A method that keeps its policy in a field and waits by hand may
// run once.
func (c *checker) concurrent(cur inspector.Cursor, v *types.Var, single bool) bool {
	concurrent := false
	for fn := range cur.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		for sel := range fn.Preorder((*ast.SelectorExpr)(nil)) {
			if sel.Node().(*ast.SelectorExpr).Sel.Name == "Lock" {
				return false
			}
		}
		if lit, ok := fn.Node().(*ast.FuncLit); within(v.Pos(), fn.Node()) {
			continue
		} else if ok {
			concurrent = concurrent || hook.MatchString(c.signature(fn)) || c.started(lit, v)
		} else if c.Pkg.Name() != "main" && !single {
			concurrent = concurrent || worker.MatchString(c.signature(fn))
		}
		concurrent = concurrent || handler.MatchString(c.signature(fn))
	}
	return concurrent
}

func (c *checker) signature(fn inspector.Cursor) string {
	if decl, ok := fn.Node().(*ast.FuncDecl); ok {
		return typeName(c.TypesInfo.TypeOf(decl.Name))
	}
	return typeName(c.TypesInfo.TypeOf(fn.Node().(ast.Expr)))
}

// started reports whether a loop, outside of which v is declared, starts goroutines that run lit.
func (c *checker) started(lit *ast.FuncLit, v *types.Var) bool {
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		f := call.Fun
		if sel, ok := f.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(call.Args) == 1 {
			f = call.Args[0]
		} else if cur.ParentEdgeKind() != edge.GoStmt_Call {
			continue
		}
		if loop := loopOf(cur); c.literal(f) == lit && loop != nil && !within(v.Pos(), loop) {
			return true
		}
	}
	return false
}

// literal returns the function literal that e is, or nil.
func (c *checker) literal(e ast.Expr) *ast.FuncLit {
	if values := c.facts[fact{c.object(e), assigned}]; len(values) == 1 {
		e = values[0]
	}
	lit, _ := ast.Unparen(e).(*ast.FuncLit)
	return lit
}

// loopOf returns the innermost loop around cur in its function, or nil.
func loopOf(cur inspector.Cursor) ast.Node {
	for n := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch n.Node().(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return n.Node()
		}
		break
	}
	return nil
}

func within(pos token.Pos, n ast.Node) bool { return n.Pos() <= pos && pos < n.End() }

var waits = []string{"time.Sleep", "time.After", "time.NewTimer", "(*time.Timer).Reset"}

// wait reports a wait in a loop without end that is a NextBackOff which can be Stop and which nobody
// compares.
func (c *checker) wait(cur inspector.Cursor, call *ast.CallExpr) {
	fn := typeutil.StaticCallee(c.TypesInfo, call)
	loop, ok := loopOf(cur).(*ast.ForStmt)
	if fn == nil || !slices.Contains(waits, fn.FullName()) || !ok {
		return
	}
	for n := range c.root.Preorder((*ast.IncDecStmt)(nil), (*ast.AssignStmt)(nil)) {
		a, ok := n.Node().(*ast.AssignStmt)
		if counts := !ok || a.Tok != token.ASSIGN && a.Tok != token.DEFINE; counts && within(n.Node().Pos(), loop) {
			return // it may count its passes
		}
	}
	wait := call.Args[0]
	if obj := c.object(wait); len(c.facts[fact{obj, assigned}]) == 1 && !c.compared(obj) {
		wait = c.facts[fact{obj, assigned}][0]
	}
	next, ok := wait.(*ast.CallExpr)
	if !ok {
		return
	}
	name, v, recv := c.callee(next)
	p := c.policy(recv)
	if name == "NextBackOff" && v < 5 && !p.unknown && !within(p.origin.Pos(), loop) && (p.limited || p.ends()) {
		c.Reportf(call.Pos(), "NextBackOff can return Stop, -1, and %s does not wait then: compare it with Stop, or set MaxElapsedTime to 0", fn.Name())
	}
}

// compared reports whether a variable is in a comparison or another operation.
func (c *checker) compared(obj types.Object) bool {
	for op := range c.root.Preorder((*ast.BinaryExpr)(nil), (*ast.SwitchStmt)(nil)) {
		for id := range op.Preorder((*ast.Ident)(nil)) {
			if c.TypesInfo.Uses[id.Node().(*ast.Ident)] == obj {
				return true
			}
		}
	}
	return false
}

// unset reports an InitialInterval that v1 to v4 ignore when NextBackOff is called by hand.
func (c *checker) unset(e ast.Expr, v int) {
	p := c.policy(e)
	initial, certain := p.setting("InitialInterval")
	for _, v := range p.way {
		certain = certain && c.facts[fact{v, "Reset"}] == nil
	}
	if _, call := p.origin.(*ast.CallExpr); call && certain && v > 0 && v < 5 && len(initial) > 0 {
		c.Reportf(initial[0].Pos(), "InitialInterval has no effect before the next Reset, and there is none")
	}
}

// endless reports the policy e of a loop if it is a literal of v4 that never stops for want of Stop.
func (c *checker) endless(e ast.Expr, v int) {
	p := c.policy(e)
	stop, _ := p.setting("Stop")
	if _, literal := p.origin.(*ast.CompositeLit); literal && v == 4 && len(stop) == 0 && p.ends() {
		c.Reportf(e.Pos(), "this loop does not end after MaxElapsedTime, but goes on without waits: set Stop to backoff.Stop")
	}
}

// context reports a loop at cur that goes on when the context of its function is done, unless its
// operation may end it.
func (c *checker) context(cur inspector.Cursor, op, e ast.Expr) {
	p, lit := c.policy(e), c.literal(op)
	if p.unknown || p.context || lit == nil {
		return
	}
	for n := range c.root.Preorder((*ast.SelectorExpr)(nil)) {
		sel := n.Node().(*ast.SelectorExpr)
		stops := slices.Contains([]string{"Permanent", "PermanentError", "Canceled", "DeadlineExceeded"}, sel.Sel.Name)
		if within(sel.Pos(), lit) && (stops || typeName(c.TypesInfo.TypeOf(sel.X)) == "context.Context") {
			return
		}
	}
	for fn := range cur.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		signature := c.signature(fn)
		if ctx := context.FindStringSubmatch(signature); ctx != nil {
			if !strings.Contains(signature, "*testing.") {
				c.Reportf(e.Pos(), "this loop goes on when %s is done: give its policy WithContext", ctx[1])
			}
			return
		} else if fn.Parent().ParentEdgeKind() == edge.GoStmt_Call {
			return
		}
	}
}
