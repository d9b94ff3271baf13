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

// defaultRetries has, by package, what a MaxRetries of zero means beside a Policy.
var defaultRetries = map[string]int64{
	"example.com/backoff":           3,
	"example.com/backoff/httpretry": 3,
	"example.com/backoff/grpcretry": 3,
	"example.com/backoff/sqlretry":  20,
}

// field applies the rules for the settings of a Retrier or a client, if the name at cur is one of their fields.
func (c *checker) field(cur inspector.Cursor, name *ast.Ident) {
	field, ok := c.object(name).(*types.Var)
	if !ok || !field.IsField() || field.Pkg() == nil {
		return
	}
	retries := defaultRetries[field.Pkg().Path()]
	if retries == 0 {
		return
	}

	switch field.Name() {
	case "Policy":
		c.policyField(selector(cur), retries)
	case "MaxRetries":
		c.noRetries(selector(cur), retries)
	}
}

// noRetries reports a MaxRetries that is set to zero at cur.
func (c *checker) noRetries(cur inspector.Cursor, retries int64) {
	e := assigned(cur)
	if e == nil {
		return
	}
	if value := c.TypesInfo.Types[e].Value; value != nil && constant.Sign(value) == 0 {
		c.Reportf(e.Pos(), "a MaxRetries of zero means %d: a negative one means no retries [retries]", retries)
	}
}

// policyField applies the rules for a function that is set as the Policy of a Retrier or a client at cur. A MaxRetries of
// zero means retries beside it.
func (c *checker) policyField(cur inspector.Cursor, retries int64) {
	fn := c.function(assigned(cur))
	if fn == nil {
		return
	}
	made := returned(fn)
	literal, variable := configured(cur)
	if !c.makesOneCall(cur, variable) {
		for _, e := range made {
			c.reportShared(e, c.policy(e), func(v *types.Var) bool { return !within(v.Pos(), fn) })
		}
	}

	more := func(e ast.Expr) bool { return c.policy(e).allowsMore(retries) }
	counted := c.counts(literal) || c.counts(variable)
	if !counted && slices.ContainsFunc(made, more) {
		c.Reportf(cur.Node().Pos(), "MaxRetries is zero, which means %d, whatever the limit of this policy is: set it, to math.MaxInt if that limit is to count [limit]", retries)
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

// makesOneCall reports whether the Retrier r makes one call: the function around cur makes it and calls it.
func (c *checker) makesOneCall(cur inspector.Cursor, r ast.Expr) bool {
	read, once := c.read(cur, c.variable(r))
	return once && c.spent(read)
}

// counts reports whether the package sets the MaxRetries of the Retrier r, or may set it.
func (c *checker) counts(r ast.Expr) bool {
	p := c.policy(r)
	return p.handed || slices.ContainsFunc(p.set["MaxRetries"], func(e ast.Expr) bool {
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
