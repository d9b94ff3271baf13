package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var (
	// What has one of these types is read through the context of what made it.
	streams = regexp.MustCompile(`^\*(net/http\.Response|database/sql\.Rows)$`)

	// An operation that uses one of these may be done with it.
	buffers = regexp.MustCompile(`\.(ReadAll|NopCloser|Copy|CopyN|ReadFrom|Close)$`)
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
		other, _ := c.retrier(call)
		again := c.same(other, r)
		decl, ok := c.function(call.Fun).(*ast.FuncDecl)
		if ok && (v.Kind() == types.PackageVar || c.sameReceiver(call, r)) {
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
	return other != nil && c.alike(other, r)
}

// alike reports whether a and b, perhaps in two functions, name the same variable, or the same field of variables that are
// called the same.
func (c *checker) alike(a, b ast.Expr) bool {
	return c.object(a) == c.object(b) && types.ExprString(a) == types.ExprString(b)
}

// same reports whether a and b name the same variable, or the same field of the same one.
func (c *checker) same(a, b ast.Expr) bool { return c.alike(a, b) && c.variable(a) == c.variable(b) }

// sameReceiver reports whether call is one of a method of the value whose field r is.
func (c *checker) sameReceiver(call *ast.CallExpr, r ast.Expr) bool {
	method, calls := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	field, ok := ast.Unparen(r).(*ast.SelectorExpr)
	return calls && ok && c.same(method.X, field.X)
}

// timed reports whether the Retrier r is seen to limit its attempts.
func (c *checker) timed(r ast.Expr) bool {
	p := c.policy(r)
	unlimited := func(e ast.Expr) bool {
		value := c.TypesInfo.Types[e].Value
		return value == nil || constant.Sign(value) < 0
	}
	return !p.unknown && !p.handed && !slices.ContainsFunc(p.set["AttemptTimeout"], unlimited)
}

// deferred reports the call by a Retrier at cur with ctx if it is to clean up, though ctx may have ended by then.
func (c *checker) deferred(cur inspector.Cursor, ctx ast.Expr) {
	lit := around(cur)
	direct := cur.ParentEdgeKind() == edge.DeferStmt_Call
	if !direct && lit.Parent().ParentEdgeKind() != edge.DeferStmt_Call {
		return
	}
	v, ok := c.object(ctx).(*types.Var)
	if ok && (direct || !within(v.Pos(), lit.Node())) && !c.mentions(outermost(cur).Node(), cuts) && c.ends(ctx) {
		c.Reportf(ctx.Pos(), "if %s has ended by then, this does nothing: use context.WithoutCancel [defer]", types.ExprString(ctx))
	}
}

// final reports a mark Permanent in op, an operation of the Retrier r, for an attempt that took too long.
func (c *checker) final(r, op ast.Expr) {
	lit, ok := c.function(op).(*ast.FuncLit)
	if !ok || len(lit.Type.Params.List[0].Names) == 0 || !c.timed(r) {
		return
	}
	ctx := lit.Type.Params.List[0].Names[0].Name
	c.inside(lit, func(call *ast.CallExpr) {
		if name, _ := c.callee(call); name != "Permanent" {
			return
		}
		if marked := types.ExprString(call.Args[0]); marked == ctx+".Err()" || marked == "context.Cause("+ctx+")" {
			c.Reportf(call.Pos(), "%s also ends after AttemptTimeout, and then this attempt is the last: return the error without Permanent [final]", ctx)
		}
	})
}

// leaving reports a call by the Retrier r whose operation op returns what its context ends.
func (c *checker) leaving(call *ast.CallExpr, r, op ast.Expr) {
	fn := c.function(op)
	results, ok := c.TypesInfo.TypeOf(call).(*types.Tuple)
	if fn == nil || !ok || !streams.MatchString(results.At(0).Type().String()) || c.mentions(fn, buffers) || !c.timed(r) {
		return
	}
	c.Reportf(call.Pos(), "the attempt's context ends when the operation returns, and what it returns cannot be read any more: read it inside [leaving]")
}

// multiplied reports what makes several attempts itself in op, an operation of the Retrier r: a request by a client, or
// sqlretry.Do if r repeats whatever that returns.
func (c *checker) multiplied(r, op ast.Expr) {
	lit, ok := c.function(op).(*ast.FuncLit)
	if !ok || c.once(r) {
		return
	}
	p := c.policy(r)
	all := typeName(c.TypesInfo.TypeOf(r)) == "backoff.Retrier" && p.set["Retryable"] == nil
	all = all && !p.unknown && !p.handed && !c.stopsLoop(lit)
	c.inside(lit, func(call *ast.CallExpr) {
		inner := c.transport(call)
		if all && c.name(call.Fun) == "example.com/backoff/sqlretry.Do" {
			inner, _ = c.retrier(call)
		}
		if inner != nil && !c.once(inner) {
			c.Reportf(call.Pos(), "this makes several attempts itself, and they multiply: use either [nested]")
		}
	})
}

// transport returns the Transport of httpretry by which call sends a request, or nil if the package shows none.
func (c *checker) transport(call *ast.CallExpr) ast.Expr {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !sendings.MatchString(c.name(method)) {
		return nil
	}
	for _, transport := range c.policy(method.X).set["Transport"] {
		if typeName(c.TypesInfo.TypeOf(transport)) == "example.com/backoff/httpretry.Transport" {
			return transport
		}
	}
	return nil
}

// once reports whether the Retrier or client r may make no retries.
func (c *checker) once(r ast.Expr) bool {
	return slices.ContainsFunc(c.policy(r).set["MaxAttempts"], func(e ast.Expr) bool {
		value := c.TypesInfo.Types[e].Value
		return value == nil || constant.Compare(value, token.EQL, constant.MakeInt64(1))
	})
}

// transaction reports a use of db, the database of a transaction, in f, the function that must use the transaction alone.
func (c *checker) transaction(db, f ast.Expr) {
	fn, ok := c.function(f).(*ast.FuncLit)
	if !ok {
		return
	}
	shown := types.ExprString(db)
	same := func(e ast.Expr) bool { return c.same(e, db) }
	for n := range ast.Preorder(fn.Body) {
		call, ok := n.(*ast.CallExpr)
		if !ok || !c.fails(call) {
			continue // it makes or tells something
		}
		used := slices.ContainsFunc(call.Args, same)
		if method, ok := call.Fun.(*ast.SelectorExpr); ok {
			made, calls := method.X.(*ast.CallExpr) // as in newQueries(db).get(ctx)
			used = used || same(method.X) || calls && slices.ContainsFunc(made.Args, same)
		}
		if used {
			c.Reportf(call.Pos(), "what %s does is no part of the transaction, and can wait for it forever: use tx [tx]", shown)
		}
	}
}
