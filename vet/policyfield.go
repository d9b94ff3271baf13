package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// defaultAttempts has, by package, what a MaxAttempts of zero means.
var defaultAttempts = map[string]int64{
	"example.com/backoff":           4,
	"example.com/backoff/httpretry": 4,
	"example.com/backoff/grpcretry": 4,
	"example.com/backoff/sqlretry":  20,
}

// field applies the rules for the Policy of a Retrier or a client, if the name at cur is that of such a field.
func (c *checker) field(cur inspector.Cursor, name *ast.Ident) {
	field, ok := c.object(name).(*types.Var)
	if !ok || !field.IsField() || field.Pkg() == nil || field.Name() != "Policy" {
		return
	}
	if attempts := defaultAttempts[field.Pkg().Path()]; attempts > 0 {
		c.policyField(selector(cur), attempts)
	}
}

// policyField applies the rules for a function that is set as the Policy of a Retrier or a client at cur, which makes so
// many attempts if MaxAttempts is zero.
func (c *checker) policyField(cur inspector.Cursor, attempts int64) {
	fn := c.function(assigned(cur))
	if fn == nil {
		return
	}
	made := returned(fn)
	literal, variable := configured(cur)
	read, once := c.read(cur, c.variable(variable))
	if !once || !c.spent(read) { // the function around cur makes more than one call with it, or another one does
		for _, e := range made {
			c.reportShared(e, c.policy(e), func(v *types.Var) bool { return outlives(v, cur, fn) })
		}
	}

	more := func(e ast.Expr) bool { return c.policy(e).allowsMore(attempts - 1) }
	counted := c.counts(literal) || c.counts(variable)
	if !counted && slices.ContainsFunc(made, more) {
		c.Reportf(cur.Node().Pos(), "MaxAttempts is zero, which means %d, whatever the limit of this policy is: set it, to -1 if that limit is to count [limit]", attempts)
	}
}

// returned returns what the function fn returns.
func returned(fn ast.Node) []ast.Expr {
	var returned []ast.Expr
	for n := range ast.Preorder(fn) {
		if ret, ok := n.(*ast.ReturnStmt); ok {
			returned = append(returned, ret.Results...)
		}
	}
	return returned
}

// configured returns the literal whose Policy is set at cur, and the variable or field that has the Policy then. Either
// may be nil.
func configured(cur inspector.Cursor) (literal, variable ast.Expr) {
	if sel, ok := cur.Node().(*ast.SelectorExpr); ok {
		return nil, sel.X
	}

	lit := cur.Parent().Parent()
	literal = lit.Node().(*ast.CompositeLit)
	if lit.ParentEdgeKind() == edge.UnaryExpr_X {
		lit = lit.Parent()
	}
	return literal, holder(lit)
}

// counts reports whether the package sets the MaxAttempts of the Retrier r, or may set it, perhaps in a copy.
func (c *checker) counts(r ast.Expr) bool {
	p := c.policy(r)
	copied := func(use inspector.Cursor) bool { return c.policy(holder(use)).set["MaxAttempts"] != nil }
	return p.handed || slices.ContainsFunc(c.uses[c.object(r)], copied) || slices.ContainsFunc(p.set["MaxAttempts"], func(e ast.Expr) bool {
		value := c.TypesInfo.Types[e].Value
		return value == nil || constant.Sign(value) != 0
	})
}

// allowsMore reports whether the policy has a limit which may allow more retries than n: a MaxElapsedTime, or more
// retries by WithMaxRetries.
func (p *policy) allowsMore(n int64) bool {
	times := slices.Concat(p.set["MaxElapsedTime"], p.set["WithMaxElapsedTime"])
	positive := func(e ast.Expr) bool { return p.above(e, 0) }
	more := func(e ast.Expr) bool { return p.above(e, n) }
	return slices.ContainsFunc(times, positive) || slices.ContainsFunc(p.set["WithMaxRetries"], more)
}

// above reports whether e is more than n, or may be.
func (c *checker) above(e ast.Expr, n int64) bool {
	value := c.TypesInfo.Types[e].Value
	return value == nil || constant.Compare(value, token.GTR, constant.MakeInt64(n))
}
