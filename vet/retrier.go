package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// retrier returns the Retrier and the operation of a call of Do or DoWithData. It returns nil if call is another one.
func (c *checker) retrier(call *ast.CallExpr) (r, op ast.Expr) {
	switch name, version := c.callee(call); {
	case version == own && name == "Do" && len(call.Args) == 2: // not the method expression, with three
		r = ast.Unparen(call.Fun).(*ast.SelectorExpr).X
		op = call.Args[1]
	case version == own && name == "DoWithData" && len(call.Args) == 3:
		r = call.Args[1]
		op = call.Args[2]
	}
	if address, ok := ast.Unparen(r).(*ast.UnaryExpr); ok {
		r = address.X
	}
	return r, op
}

// forOneCall reports the Slots or the Budget of the Retrier r, if the function around cur makes them for the call at
// cur alone.
func (c *checker) forOneCall(cur inspector.Cursor, r ast.Expr) {
	if starts(around(cur).Node()) {
		return
	}

	p := c.policy(r)
	for _, limit := range slices.Concat(p.set["Slots"], p.set["Budget"]) {
		made, holders := c.made(limit)
		if made == nil {
			continue
		}
		holders = append(holders, p.path...)
		shared := func(v *types.Var) bool { return !c.confined(cur, v) }
		if !slices.ContainsFunc(holders, shared) {
			_, kind, _ := strings.Cut(typeName(c.TypesInfo.TypeOf(made)), ".")
			c.Reportf(limit.Pos(), "this %s is made for one call, and protects nothing: share one between all calls [%s]", kind, strings.ToLower(kind))
			return
		}
	}
}

// made returns the expression that makes the Slots or the Budget that limit is, and the variables that hold them. It
// returns nil if the package does not show one.
func (c *checker) made(limit ast.Expr) (made ast.Expr, holders []*types.Var) {
	made = limit
	if v, ok := c.object(limit).(*types.Var); ok {
		holders = append(holders, v)
		made = c.value(v)
	}

	if address, ok := made.(*ast.UnaryExpr); ok {
		if v, ok := c.object(address.X).(*types.Var); ok {
			holders = append(holders, v)
		}
		return made, holders
	}
	name, _ := c.callee(made)
	if name == "NewSlots" || made != nil && strings.HasPrefix(types.ExprString(made), "new(") {
		return made, holders
	}
	return nil, nil
}

// confined reports whether v is a variable of the function around cur, in no other loop than what is there, and is
// read once.
func (c *checker) confined(cur inspector.Cursor, v *types.Var) bool {
	reads := 0
	for _, use := range c.uses[v] {
		if around(use) != around(cur) || loopOf(use) != loopOf(cur) {
			return false
		}
		kind := use.ParentEdgeKind()
		set := kind == edge.AssignStmt_Lhs || kind == edge.ValueSpec_Names
		setsField := kind == edge.SelectorExpr_X && assigned(use.Parent()) != nil
		if !set && !setsField {
			reads++
		}
	}
	return reads == 1 && v.Kind() == types.LocalVar
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
