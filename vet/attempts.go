package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// unset reports a loop over the Attempts at cur whose body never sets the local variable whose address it gave: not
// itself, nor by a closure or a pointer.
func (c *checker) unset(cur inspector.Cursor, call *ast.CallExpr) {
	loop, ok := cur.Parent().Node().(*ast.RangeStmt)
	address, pointer := ast.Unparen(call.Args[1]).(*ast.UnaryExpr)
	if !ok || !pointer {
		return
	}
	name, _ := ast.Unparen(address.X).(*ast.Ident) // nil for a field or an element
	v, ok := c.object(name).(*types.Var)
	if !ok || v.Kind() == types.PackageVar {
		return
	}

	for use := range outermost(cur).Preorder((*ast.Ident)(nil)) {
		if c.object(use.Node().(*ast.Ident)) == v && c.setsIn(use, loop, address) {
			return
		}
	}
	c.Reportf(call.Args[1].Pos(), "the body of this loop never sets %s, and Attempts panics after it: assign to %[1]s, and declare no other [attempts]", v.Name())
}

// setsIn reports whether the variable at use, whose address Attempts has, is or may be set in a pass of loop.
func (c *checker) setsIn(use inspector.Cursor, loop *ast.RangeStmt, address *ast.UnaryExpr) bool {
	fn := around(use)
	deferred := fn.Parent().ParentEdgeKind() == edge.DeferStmt_Call
	called := !deferred && !within(loop.Pos(), fn.Node()) // by the body, perhaps

	switch use.ParentEdgeKind() {
	case edge.AssignStmt_Lhs, edge.RangeStmt_Key, edge.RangeStmt_Value:
		return called || within(use.Node().Pos(), loop.Body)
	case edge.UnaryExpr_X:
		n := use.Parent().Node().(*ast.UnaryExpr)
		parent, _ := use.Parent().Parent().Node().(ast.Expr)
		name, _ := c.callee(parent)
		return n.Op == token.AND && n != address && name != "Attempts"
	}
	return false
}
