package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// unset reports a loop over Attempts at cur whose body never sets the local variable whose address it
// gave: not itself, nor by a closure or a pointer.
func (c *checker) unset(cur inspector.Cursor, call *ast.CallExpr) {
	loop, ok := cur.Parent().Node().(*ast.RangeStmt)
	address, pointer := ast.Unparen(call.Args[1]).(*ast.UnaryExpr)
	if !ok || !pointer {
		return
	}
	outer := outermost(cur)
	v, ok := c.object(address.X).(*types.Var)
	if !ok || v.IsField() || !within(v.Pos(), outer.Node()) {
		return
	}
	is := func(e ast.Expr) bool { return e != nil && c.object(e) == v }
	for at := range outer.Preorder((*ast.AssignStmt)(nil), (*ast.RangeStmt)(nil), (*ast.UnaryExpr)(nil)) {
		sets, fn := false, around(at)
		// A closure may be called by the body, but not one that is deferred.
		called := within(at.Node().Pos(), loop.Body) || !within(loop.Pos(), fn.Node()) && fn.Parent().ParentEdgeKind() != edge.DeferStmt_Call
		switch n := at.Node().(type) {
		case *ast.AssignStmt:
			sets = called && slices.ContainsFunc(n.Lhs, is)
		case *ast.RangeStmt:
			sets = called && (is(n.Key) || is(n.Value))
		case *ast.UnaryExpr:
			parent, _ := at.Parent().Node().(ast.Expr)
			name, _, _ := c.callee(parent)
			sets = n.Op == token.AND && is(n.X) && n != address && name != "Attempts"
		}
		if sets {
			return
		}
	}
	c.Reportf(call.Args[1].Pos(), "this body never sets %s: Attempts panics at the end of its first pass", v.Name())
}
