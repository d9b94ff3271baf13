package vet

import (
	"go/ast"
	"go/types"
)

// retrier returns the Retrier, or the Options of sqlretry, and the operation of a call by them. It returns nil if call is
// another one.
func (c *checker) retrier(call *ast.CallExpr) (r, op ast.Expr) {
	switch name := c.name(call.Fun); {
	case name == "(*example.com/backoff.Retrier).Do" && len(call.Args) == 2: // not the method expression, with three
		r = ast.Unparen(call.Fun).(*ast.SelectorExpr).X
		op = call.Args[1]
	case name == "example.com/backoff.DoWithData" && len(call.Args) == 3:
		r = call.Args[1]
		op = call.Args[2]
	case name == "example.com/backoff/sqlretry.Do" && len(call.Args) == 4:
		r = call.Args[2]
		op = call.Args[3]
	}
	if address, ok := ast.Unparen(r).(*ast.UnaryExpr); ok {
		r = address.X
	}
	return r, op
}

// nested reports a call by the Retrier r in op, the operation of another call by r, or in a function of the package that
// op calls.
func (c *checker) nested(r, op ast.Expr) {
	v, _ := c.object(r).(*types.Var)
	fn := c.function(op)
	if v == nil || fn == nil {
		return
	}

	c.inside(fn, func(call *ast.CallExpr) {
		again := c.by(call, r)
		decl, ok := c.function(call.Fun).(*ast.FuncDecl)
		if ok && (v.Kind() == types.PackageVar || sameReceiver(call, r)) {
			c.inside(decl, func(call *ast.CallExpr) { again = again || c.by(call, r) })
		}
		if again && !c.reported[call] {
			c.reported[call] = true
			c.Reportf(call.Pos(), "this call is part of another one by %s: it takes a second slot, and the attempts multiply [nested]", types.ExprString(r))
		}
	})
}

// inside calls visit for each call in fn, but for those in other goroutines.
func (c *checker) inside(fn ast.Node, visit func(call *ast.CallExpr)) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			visit(call)
		}
		_, other := n.(*ast.GoStmt)
		return !other
	})
}

// by reports whether call is one by the Retrier that is called r.
func (c *checker) by(call *ast.CallExpr, r ast.Expr) bool {
	other, _ := c.retrier(call)
	return other != nil && c.object(other) == c.object(r) && types.ExprString(other) == types.ExprString(r)
}

// sameReceiver reports whether call is one of a method of the value whose field r is.
func sameReceiver(call *ast.CallExpr, r ast.Expr) bool {
	method, calls := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	field, ok := ast.Unparen(r).(*ast.SelectorExpr)
	return calls && ok && types.ExprString(method.X) == types.ExprString(field.X)
}
