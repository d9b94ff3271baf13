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
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// Analyzer applies the rules that README.md lists.
var Analyzer = &analysis.Analyzer{
	Name:     "backoff",
	Doc:      "report misuse of backoff policies\n\nLoops share one, a loop outlives its context, or waits and settings are not what they seem.",
	Requires: []*analysis.Analyzer{inspect.Analyzer}, Run: run,
}

// own is the version of example.com/backoff. Those of github.com/cenkalti/backoff are 1 to 7; v0 and
// v2 share the import path of v1. Other packages have 0. Below v5, a loop has no context but its
// policy's.
const own = -1

func version(pkg *types.Package) int {
	if pkg.Path() == "example.com/backoff" {
		return own
	}
	return 1 + slices.Index([]string{"", "/v2", "/v3", "/v4", "/v5", "/v6", "/v7"}, strings.TrimPrefix(pkg.Path(), "github.com/cenkalti/backoff"))
}

func run(pass *analysis.Pass) (any, error) {
	if !slices.ContainsFunc(pass.Pkg.Imports(), func(p *types.Package) bool { return version(p) != 0 }) {
		return nil, nil
	}
	c := &checker{pass, pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(), map[ast.Node]inspector.Cursor{}, map[types.Object]ast.Node{}, map[fact][]ast.Expr{}, map[fact]bool{}}
	c.learn()
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		if strings.HasSuffix(pass.Fset.Position(call.Pos()).Filename, "_test.go") {
			continue // what is wrong in a test ends with it
		}
		name, v, recv := c.callee(call)
		if v == 0 {
			c.wait(call)
		} else if name == "NextBackOff" && recv != nil {
			c.shared(cur, recv, true)
			c.settings(recv, v, true)
		} else if e := loopPolicy(call, name, v); e != nil {
			c.shared(cur, e, false)
			c.settings(e, v, false)
			c.context(cur, call, e, v)
			if name == "Attempts" {
				c.unset(cur, call)
			}
		}
	}
	return nil, nil
}

// loopPolicy returns the argument of a call that becomes the policy of a loop.
func loopPolicy(call *ast.CallExpr, name string, v int) ast.Expr {
	if strings.HasPrefix(name, "NewTicker") || name == "Attempts" || name == "WithBackOff" {
		return call.Args[0]
	} else if strings.HasPrefix(name, "Retry") && v < 5 && len(call.Args) > 1 {
		return call.Args[1]
	}
	return nil
}

// A checker applies the rules to a package.
type checker struct {
	*analysis.Pass
	root  inspector.Cursor
	at    map[ast.Node]inspector.Cursor
	decls map[types.Object]ast.Node
	facts map[fact][]ast.Expr
	known map[fact]bool // what stopped and limited have found
}

// A fact is what a package does with a variable or field: it assigns to it, hands it to a function of
// another package than the library, compares it or computes with it, calls a method, or sets a field of
// the policy that it is. Or it is what a package does with a function: it calls it, or starts a goroutine
// with it. Or it is what a function, or a literal in it, mentions: the name in a selector, the type before
// it, or what is sent to a channel.
type fact [2]any

// None of these is a name.
const assigned, handed, compared, called, started, reported = "=", "()", "<", "func", "go", "!"

var functions = []ast.Node{(*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)}

func (c *checker) learn() {
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil)) {
		c.decls[c.object(cur.Node().(*ast.FuncDecl).Name)] = cur.Node()
	}
	for cur := range c.root.Preorder() {
		c.at[cur.Node()] = cur
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				right := n.Rhs[min(i, len(n.Rhs)-1)]
				c.note(c.object(left), assigned, right)
				if sel, ok := left.(*ast.SelectorExpr); ok {
					c.note(c.object(sel.X), sel.Sel.Name, right)
				}
			}
		case *ast.ValueSpec:
			for i, value := range n.Values {
				c.note(c.object(n.Names[i]), assigned, value)
			}
		case *ast.KeyValueExpr:
			if v, ok := c.object(n.Key).(*types.Var); ok && v.IsField() && !strings.Contains(types.ExprString(n.Key), ".") { // not a map's
				c.note(v, assigned, n.Value)
			}
		case *ast.Ident:
			for range cur.Enclosing((*ast.BinaryExpr)(nil), (*ast.SwitchStmt)(nil)) {
				c.note(c.object(n), compared, n)
			}
		case *ast.SelectorExpr:
			c.mention(cur, n.Sel.Name)
			c.mention(cur, typeName(c.TypesInfo.TypeOf(n.X)))
		case *ast.SendStmt:
			if !nudge(cur) {
				c.mention(cur, types.ExprString(n.Value))
			}
		case *ast.GoStmt:
			c.note(c.function(n.Call.Fun), started, n.Call)
		case *ast.CallExpr:
			c.note(c.function(n.Fun), called, n)
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
				c.note(c.function(n.Args[0]), started, n)
			}
			name, v, recv := c.callee(n)
			c.note(c.object(recv), name, n)
			c.note(c.object(loopPolicy(n, name, v)), "Reset", n) // by the loop
			for i := 0; v == 0 && i < len(n.Args); i++ {
				c.note(c.object(n.Args[i]), handed, n)
			}
		}
	}
}

// nudge reports whether send need not succeed: it is a case of a select, with an empty body, and the
// default's is empty too.
func nudge(send inspector.Cursor) bool {
	clause, ok := send.Parent().Node().(*ast.CommClause)
	if !ok || len(clause.Body) > 0 {
		return false
	}
	return slices.ContainsFunc(send.Parent().Parent().Node().(*ast.BlockStmt).List, func(s ast.Stmt) bool {
		other := s.(*ast.CommClause)
		return other.Comm == nil && len(other.Body) == 0
	})
}

func (c *checker) note(of any, what string, value ast.Expr) {
	if of != nil {
		c.facts[fact{of, what}] = append(c.facts[fact{of, what}], value)
	}
}

func (c *checker) mention(cur inspector.Cursor, what string) {
	for fn := range cur.Enclosing(functions...) {
		c.facts[fact{fn.Node(), what}] = []ast.Expr{nil}
	}
}

// mentions reports whether a function mentions one of the names.
func (c *checker) mentions(fn ast.Node, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return c.facts[fact{fn, name}] != nil })
}

// function returns the literal or the declaration that e is, or nil.
func (c *checker) function(e ast.Expr) ast.Node {
	if values := c.facts[fact{c.object(e), assigned}]; len(values) == 1 {
		e = values[0]
	}
	e = instance(e)
	if lit, ok := e.(*ast.FuncLit); ok {
		return lit
	}
	return c.decls[c.object(e)]
}

// instance returns e without the types that it gives to a generic function.
func instance(e ast.Expr) ast.Expr {
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return e.X
	case *ast.IndexListExpr:
		return e.X
	default:
		return e
	}
}

// object returns the variable, field or function that e names.
func (c *checker) object(e ast.Expr) types.Object {
	e = ast.Unparen(e)
	if sel, ok := e.(*ast.SelectorExpr); ok {
		e = sel.Sel
	}
	id, _ := e.(*ast.Ident)
	obj := c.TypesInfo.ObjectOf(id)
	if fn, ok := obj.(*types.Func); ok {
		return fn.Origin() // not the method of one instance
	}
	return obj
}

// callee returns the name and the version of the library's function that e calls, and the value whose
// method it is.
func (c *checker) callee(e ast.Expr) (name string, v int, recv ast.Expr) {
	if call, ok := e.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && c.TypesInfo.Selections[sel] != nil {
			recv = sel.X
		}
		if fn := typeutil.Callee(c.TypesInfo, call); fn != nil && fn.Pkg() != nil && version(fn.Pkg()) != 0 {
			return fn.Name(), version(fn.Pkg()), recv
		}
	}
	return "", 0, nil
}

var library = regexp.MustCompile(`(example.com/backoff|github.com/cenkalti/backoff(/v[2-7])?)\.`)

// typeName returns the name of t, or of what it points to. The library is backoff in any version.
func typeName(t types.Type) string {
	return strings.TrimPrefix(library.ReplaceAllString(types.TypeString(t, nil), "backoff."), "*")
}

// outermost returns the outermost function around cur.
func outermost(cur inspector.Cursor) (fn inspector.Cursor) {
	fn = cur
	for fn = range cur.Enclosing(functions...) {
	}
	return fn
}

// around returns the innermost function around cur.
func around(cur inspector.Cursor) inspector.Cursor {
	for fn := range cur.Enclosing(functions...) {
		return fn
	}
	return cur
}

// taker returns the name of the function that the literal fn is given to.
func (c *checker) taker(fn inspector.Cursor) string {
	if call, ok := fn.Parent().Node().(*ast.CallExpr); ok {
		if taker := typeutil.StaticCallee(c.TypesInfo, call); taker != nil {
			return taker.FullName()
		}
	}
	return ""
}

// sig returns the type of the function fn. If fn is nil, it has no parameters.
func (c *checker) sig(fn ast.Node) *types.Signature {
	var t types.Type
	switch fn := fn.(type) {
	case *ast.FuncDecl:
		t = c.TypesInfo.TypeOf(fn.Name)
	case *ast.FuncLit:
		t = c.TypesInfo.TypeOf(fn)
	}
	if sig, ok := t.(*types.Signature); ok {
		return sig
	}
	return new(types.Signature)
}

// signature returns the type of the function fn in words, without type parameters.
func (c *checker) signature(fn ast.Node) string {
	sig := c.sig(fn)
	return typeName(types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic()))
}

// parameter returns which parameter of fn v is, or -1.
func (c *checker) parameter(fn ast.Node, v types.Object) int {
	return slices.IndexFunc(slices.Collect(c.sig(fn).Params().Variables()), func(p *types.Var) bool { return p == v })
}

// argument returns what call gives fn as b, if b is a parameter of fn, or else b.
func (c *checker) argument(b ast.Expr, fn ast.Node, call ast.Expr) ast.Expr {
	if i, args := c.parameter(fn, c.object(b)), call.(*ast.CallExpr).Args; i >= 0 && i < len(args) {
		return args[i]
	}
	return b
}

// taken returns the parameter of a function of the package as which call hands it v, or nil.
func (c *checker) taken(call *ast.CallExpr, v types.Object) *types.Var {
	sig := c.sig(c.function(call.Fun))
	for i, arg := range call.Args {
		if c.object(arg) == v && i < sig.Params().Len() {
			return sig.Params().At(i)
		}
	}
	return nil
}

// base returns the variable that e is, or whose field it is: s for s.client.policy.
func (c *checker) base(e ast.Expr) types.Object {
	if sel, ok := ast.Unparen(e).(*ast.SelectorExpr); ok {
		return c.base(sel.X)
	}
	return c.object(e)
}

// passed returns the variable which call, that calls or starts fn, gives it as base. It returns nil if
// that is not shown.
func (c *checker) passed(base types.Object, fn ast.Node, call ast.Expr) types.Object {
	if base == nil || !within(base.Pos(), fn) {
		return base
	}
	fun, args := call.(*ast.CallExpr).Fun, call.(*ast.CallExpr).Args
	if c.function(fun) != fn { // a method Go is given fn
		fun, args = args[0], nil
	}
	if i := c.parameter(fn, base); i >= 0 && i < len(args) {
		return c.base(args[i])
	}
	if sel, ok := instance(fun).(*ast.SelectorExpr); ok && c.sig(fn).Recv() == base {
		return c.base(sel.X)
	}
	return nil
}

// loopOf returns the innermost loop around cur in its function, or nil.
func loopOf(cur inspector.Cursor) ast.Node {
	for n := range cur.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch n.Node().(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return n.Node()
		}
		return nil
	}
	return nil
}

// steps is how many calls in a row are followed from one function to another.
const steps = 3

func within(pos token.Pos, n ast.Node) bool { return n.Pos() <= pos && pos < n.End() }
