// Package vet finds misuse of backoff policies and Retriers that compiles: a policy that several loops share, a loop
// that outlives its context, a wait that is none, slots for a single call. It knows example.com/backoff and every major
// version of github.com/cenkalti/backoff.
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
	c := &checker{pass, map[types.Object][]inspector.Cursor{}, map[ast.Expr]bool{}}
	for cur := range root.Preorder((*ast.Ident)(nil)) {
		obj := c.object(cur.Node().(*ast.Ident))
		if cur.ParentEdgeKind() == edge.SelectorExpr_Sel {
			cur = cur.Parent()
		}
		c.uses[obj] = append(c.uses[obj], cur)
	}
	delete(c.uses, nil)

	for cur := range root.Preorder((*ast.CallExpr)(nil), (*ast.Ident)(nil)) {
		// What is wrong in a test ends with it.
		if strings.HasSuffix(pass.Fset.Position(cur.Node().Pos()).Filename, "_test.go") {
			continue
		}
		if call, ok := cur.Node().(*ast.CallExpr); ok {
			c.check(cur, call)
		} else {
			c.renewed(cur)
		}
	}
	return nil, nil
}

// check applies the rules to the call at cur.
func (c *checker) check(cur inspector.Cursor, call *ast.CallExpr) {
	name, version := c.callee(call)
	switch {
	case version == 0:
		c.wait(cur, call)
	case name == "Permanent" || name == "RetryAfter":
		c.unused(cur, call, name)
		c.success(cur, call, name)
	case option.MatchString(name):
		c.unused(cur, call, name)
	case name == "NextBackOff":
		e := ast.Unparen(call.Fun).(*ast.SelectorExpr).X
		p := c.policy(e)
		c.shared(cur, e, p, true)
		c.interval(p, version)
	}

	if r, op := c.retrier(call); r != nil {
		c.do(cur, r, op)
	}
	e := loopPolicy(call, name, version)
	if e == nil {
		return
	}
	p := c.policy(e)
	c.shared(cur, e, p, false)
	c.stop(e, p)
	c.alone(cur, p.budget, p.holders)
	if version < 5 {
		c.context(cur, call, e, p)
	}
	if name == "Attempts" {
		c.attempts(cur, call)
	}
}

// option matches the names of options and decorators.
var option = regexp.MustCompile(`^With[A-Z]`)

// loopPolicy returns the argument of a call that becomes the policy of a loop, or nil.
func loopPolicy(call *ast.CallExpr, name string, version int) ast.Expr {
	if strings.HasPrefix(name, "NewTicker") || name == "Attempts" || name == "WithBackOff" {
		return call.Args[0]
	}
	if strings.HasPrefix(name, "Retry") && name != "RetryAfter" && version < 5 && len(call.Args) > 1 {
		return call.Args[1]
	}
	return nil
}

// A checker applies the rules to a package.
type checker struct {
	*analysis.Pass
	uses     map[types.Object][]inspector.Cursor // of variables, fields and functions
	reported map[ast.Expr]bool                   // by the rule interval
}

// object returns the variable, field or function that e names, or nil.
func (c *checker) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		return c.object(e.Sel)
	case *ast.IndexExpr: // of a generic function
		return c.object(e.X)
	case *ast.Ident:
		obj := c.TypesInfo.ObjectOf(e)
		if fn, ok := obj.(*types.Func); ok {
			return fn.Origin() // not the method of one instance
		}
		return obj
	}
	return nil
}

// value returns what the package assigns to v, or nil if that is not one value.
func (c *checker) value(v types.Object) (value ast.Expr) {
	for _, use := range c.uses[v] {
		if e := assigned(use); e != nil && value != nil {
			return nil
		} else if e != nil {
			value = e
		}
	}
	return value
}

// assigned returns what is assigned to the variable or field at cur, or nil.
func assigned(cur inspector.Cursor) ast.Expr {
	kind, i := cur.ParentEdge()
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		if kind == edge.AssignStmt_Lhs {
			return parent.Rhs[min(i, len(parent.Rhs)-1)]
		}
	case *ast.ValueSpec:
		if kind == edge.ValueSpec_Names && i < len(parent.Values) {
			return parent.Values[i]
		}
	case *ast.KeyValueExpr:
		if _, field := cur.Node().(*ast.Ident); field && kind == edge.KeyValueExpr_Key {
			return parent.Value
		}
	}
	return nil
}

// callee returns the name and the version of the library's function or method that e calls.
func (c *checker) callee(e ast.Expr) (name string, v int) {
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		fn, ok := c.object(call.Fun).(*types.Func)
		if ok && fn.Pkg() != nil && version(fn.Pkg()) != 0 {
			return fn.Name(), version(fn.Pkg())
		}
	}
	return "", 0
}

// function returns the literal or the declaration in the package that e is, or nil.
func (c *checker) function(e ast.Expr) ast.Node {
	if value := c.value(c.object(e)); value != nil {
		e = value
	}
	if lit, ok := ast.Unparen(e).(*ast.FuncLit); ok {
		return lit
	}
	for _, use := range c.uses[c.object(e)] {
		if use.ParentEdgeKind() == edge.FuncDecl_Name {
			return use.Parent().Node()
		}
	}
	return nil
}

// name returns the full name of the function that e is, such as (*sync.Mutex).Lock, or what else e says.
func (c *checker) name(e ast.Expr) string {
	if fn, ok := c.object(e).(*types.Func); ok {
		return fn.FullName()
	}
	return types.ExprString(e)
}

// mentions reports whether n has a selector with one of the names.
func (c *checker) mentions(n ast.Node, names *regexp.Regexp) bool {
	for n := range ast.Preorder(n) {
		if sel, ok := n.(*ast.SelectorExpr); ok && names.MatchString(c.name(sel)) {
			return true
		}
	}
	return false
}

// signature returns the type of the function fn in words.
func (c *checker) signature(fn ast.Node) string {
	if decl, ok := fn.(*ast.FuncDecl); ok {
		fn = decl.Name
	}
	return typeName(c.TypesInfo.TypeOf(fn.(ast.Expr)))
}

var library = regexp.MustCompile(`(example.com/backoff|github.com/cenkalti/backoff(/v[2-7])?)\.`)

// typeName returns the name of t, or of what it points to. The library is backoff in any version.
func typeName(t types.Type) string {
	return strings.TrimPrefix(library.ReplaceAllString(types.TypeString(t, nil), "backoff."), "*")
}

var functions = []ast.Node{(*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)}

// around returns the innermost function around cur.
func around(cur inspector.Cursor) inspector.Cursor {
	for fn := range cur.Enclosing(functions...) {
		return fn
	}
	return cur
}

// outermost returns the outermost function around cur.
func outermost(cur inspector.Cursor) inspector.Cursor {
	for fn := range cur.Enclosing(functions...) {
		cur = fn
	}
	return cur
}

// loopOf returns the innermost loop in its function that repeats what is at cur, or nil.
func loopOf(cur inspector.Cursor) ast.Node {
	for ; ; cur = cur.Parent() {
		switch cur.ParentEdgeKind() {
		case edge.ForStmt_Cond, edge.ForStmt_Post, edge.ForStmt_Body, edge.RangeStmt_Body:
			return cur.Parent().Node()
		case edge.FuncDecl_Body, edge.FuncLit_Body, edge.Invalid:
			return nil
		}
	}
}

func within(pos token.Pos, n ast.Node) bool { return n.Pos() <= pos && pos < n.End() }
