package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// do applies the rules for a Retrier to the call at cur, which is one by r, of op.
func (c *checker) do(cur inspector.Cursor, r, op ast.Expr) {
	p := c.policy(r)
	for _, limit := range slices.Concat(p.set["Slots"], p.set["Budget"]) {
		c.alone(cur, limit, p.path)
	}
	c.nested(r, op)
	c.timeout(cur, op)
}

// retrier returns the Retrier and the operation of a call of Do or DoWithData. It returns nil if call is another one.
func (c *checker) retrier(call *ast.CallExpr) (r, op ast.Expr) {
	switch name, version := c.callee(call); {
	case version == own && name == "Do" && len(call.Args) == 2: // not the method expression, with three
		r, op = ast.Unparen(call.Fun).(*ast.SelectorExpr).X, call.Args[1]
	case version == own && name == "DoWithData" && len(call.Args) == 3:
		r, op = call.Args[1], call.Args[2]
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
		callee := c.function(call.Fun)
		again := c.by(call, r)
		if decl, ok := callee.(*ast.FuncDecl); ok && (v.Kind() == types.PackageVar || sameReceiver(call, r)) {
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

// timeout reports an operation of the call at cur that uses another context in place of its own.
func (c *checker) timeout(cur inspector.Cursor, op ast.Expr) {
	lit, ok := c.function(op).(*ast.FuncLit)
	if !ok || c.mentions(outermost(cur).Node(), cuts) {
		return
	}

	used := func(name *ast.Ident) bool { return len(c.uses[c.object(name)]) > 1 }
	passed := c.passed(lit, cur.Node().Pos())
	if len(passed) > 0 && !slices.ContainsFunc(lit.Type.Params.List[0].Names, used) {
		c.Reportf(passed[0].Pos(), "%s does not end with the attempt's timeout: use the context that the operation is given [timeout]", types.ExprString(passed[0]))
	}
}

// renewed reports a function that is set as a Policy at cur, and returns a policy which it did not make.
func (c *checker) renewed(cur inspector.Cursor) {
	field, ok := c.object(cur.Node().(*ast.Ident)).(*types.Var)
	if !ok || !field.IsField() || field.Name() != "Policy" || !strings.HasPrefix(field.Pkg().Path(), "example.com/backoff") {
		return
	}
	if cur.ParentEdgeKind() == edge.SelectorExpr_Sel {
		cur = cur.Parent()
	}

	fn := c.function(assigned(cur))
	if fn == nil || c.single(cur) {
		return
	}
	for n := range ast.Preorder(fn) {
		if ret, ok := n.(*ast.ReturnStmt); ok && len(ret.Results) == 1 {
			made := ret.Results[0]
			c.reportShared(made, c.policy(made), func(v *types.Var) bool { return !within(v.Pos(), fn) })
		}
	}
}

// single reports whether the Retrier whose field is at cur makes one call: the function around cur makes it and calls it.
func (c *checker) single(field inspector.Cursor) bool {
	var holder ast.Expr
	if sel, ok := field.Node().(*ast.SelectorExpr); ok {
		holder = sel.X
	} else {
		lit := field.Parent().Parent()
		if lit.ParentEdgeKind() == edge.UnaryExpr_X {
			lit = lit.Parent()
		}
		switch parent := lit.Parent().Node().(type) {
		case *ast.AssignStmt:
			holder = parent.Lhs[min(lit.ParentEdgeIndex(), len(parent.Lhs)-1)]
		case *ast.ValueSpec:
			holder = parent.Names[lit.ParentEdgeIndex()]
		}
	}
	v, ok := c.object(holder).(*types.Var)
	return ok && c.confined(field, v) && slices.ContainsFunc(c.uses[v], func(use inspector.Cursor) bool {
		for call := range use.Enclosing((*ast.CallExpr)(nil)) {
			r, _ := c.retrier(call.Node().(*ast.CallExpr))
			return r != nil && c.object(r) == v
		}
		return false
	})
}

// alone reports a Budget or Slots that the function around cur makes for its call alone. What holds the policy
// or the Retrier with it is in holders.
func (c *checker) alone(cur inspector.Cursor, made ast.Expr, holders []*types.Var) {
	if made == nil || starts(around(cur).Node()) {
		return
	}

	pos := made.Pos()
	if v, ok := c.object(made).(*types.Var); ok {
		holders, made = append(slices.Clone(holders), v), c.value(v)
	}
	name, _ := c.callee(made)
	if address, ok := made.(*ast.UnaryExpr); ok {
		if v, ok := c.object(address.X).(*types.Var); ok {
			holders = append(slices.Clone(holders), v)
		}
	} else if name != "NewSlots" && !strings.HasPrefix(types.ExprString(made), "new(") {
		return
	}

	shared := func(v *types.Var) bool { return !c.confined(cur, v) }
	if !slices.ContainsFunc(holders, shared) {
		_, kind, _ := strings.Cut(typeName(c.TypesInfo.TypeOf(made)), ".")
		c.Reportf(pos, "this %s is made for one call, and protects nothing: share one between all calls [%s]", kind, strings.ToLower(kind))
	}
}

// starts reports whether fn is a function that runs once in a program.
func starts(fn ast.Node) bool {
	decl, ok := fn.(*ast.FuncDecl)
	return ok && decl.Recv == nil && (decl.Name.Name == "main" || decl.Name.Name == "init")
}

// confined reports whether v is a variable of the function around cur, in no other loop than what is there, and is
// read once.
func (c *checker) confined(cur inspector.Cursor, v *types.Var) bool {
	reads := 0
	for _, use := range c.uses[v] {
		kind := use.ParentEdgeKind()
		field := kind == edge.SelectorExpr_X && assigned(use.Parent()) != nil
		if kind != edge.AssignStmt_Lhs && kind != edge.ValueSpec_Names && !field {
			reads++
		}
		if around(use) != around(cur) || loopOf(use) != loopOf(cur) {
			return false
		}
	}
	return reads == 1 && v.Kind() == types.LocalVar
}
