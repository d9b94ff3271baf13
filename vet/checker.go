package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// A checker applies the rules to a package.
type checker struct {
	*analysis.Pass
	uses     map[types.Object][]inspector.Cursor // of variables, fields and functions
	reported map[ast.Expr]bool                   // what a rule has found by another way before
	repeated []ast.Node                          // the functions that loops call, and the loops over Attempts
}

func newChecker(pass *analysis.Pass, root inspector.Cursor) *checker {
	c := &checker{
		Pass:     pass,
		uses:     map[types.Object][]inspector.Cursor{},
		reported: map[ast.Expr]bool{},
	}
	for cur := range root.Preorder((*ast.Ident)(nil)) {
		if obj := c.object(cur.Node().(*ast.Ident)); obj != nil {
			c.uses[obj] = append(c.uses[obj], selector(cur))
		}
	}
	for cur := range root.Preorder((*ast.CallExpr)(nil)) {
		if op := c.repeats(cur); op != nil && !slices.Contains(c.repeated, op) {
			c.repeated = append(c.repeated, op)
		}
	}
	return c
}

// inTest reports whether n is in a test: what is wrong there ends with it.
func (c *checker) inTest(n ast.Node) bool {
	return strings.HasSuffix(c.Fset.File(n.Pos()).Name(), "_test.go")
}

// selector returns the selector expression whose name is at cur, or cur if there is none.
func selector(cur inspector.Cursor) inspector.Cursor {
	if cur.ParentEdgeKind() == edge.SelectorExpr_Sel {
		return cur.Parent()
	}
	return cur
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
func (c *checker) value(v types.Object) ast.Expr {
	var value ast.Expr
	for _, use := range c.uses[v] {
		if e := assigned(use); e != nil {
			if value != nil {
				return nil
			}
			value = e
		}
	}
	return value
}

// assigned returns what is assigned to the variable or field at cur, or nil.
func assigned(cur inspector.Cursor) ast.Expr {
	kind, i := cur.ParentEdge()
	switch parent := cur.Parent().Node().(type) {
	case *ast.IndexExpr: // of a map
		if kind == edge.IndexExpr_X {
			return assigned(cur.Parent())
		}
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

// holder returns the variable or field that the literal or the address of one at cur is assigned to, or nil.
func holder(cur inspector.Cursor) ast.Expr {
	i := cur.ParentEdgeIndex()
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		return parent.Lhs[min(i, len(parent.Lhs)-1)]
	case *ast.ValueSpec:
		return parent.Names[i]
	case *ast.KeyValueExpr:
		return parent.Key
	}
	return nil
}

// callee returns the name and the version of the library's function or method that e calls.
func (c *checker) callee(e ast.Expr) (name string, v int) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return "", 0
	}
	fn, ok := c.object(call.Fun).(*types.Func)
	if !ok || fn.Pkg() == nil || version(fn.Pkg()) == 0 {
		return "", 0
	}
	return fn.Name(), version(fn.Pkg())
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

// mentions reports whether n uses what has one of the names.
func (c *checker) mentions(n ast.Node, names *regexp.Regexp) bool {
	for n := range ast.Preorder(n) {
		if e, ok := n.(ast.Expr); ok && c.TypesInfo.Types[e].Type != nil && names.MatchString(c.name(e)) {
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
	name := library.ReplaceAllString(types.TypeString(t, nil), "backoff.")
	return strings.TrimPrefix(name, "*")
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

// starts reports whether fn is a function that runs once in a program.
func starts(fn ast.Node) bool {
	decl, ok := fn.(*ast.FuncDecl)
	return ok && decl.Recv == nil && (decl.Name.Name == "main" || decl.Name.Name == "init")
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
