package vet

import (
	"go/ast"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var (
	// A function that uses one of these asks whether a context has ended.
	asksContext = regexp.MustCompile(`^(context\.(Canceled|DeadlineExceeded|Cause)|\(context\.Context\)\.(Err|Done))$`)

	// What has one of these names asks for it, too, or for the end of the retries.
	ended = regexp.MustCompile(`(?i)cancel|deadline|timeout|context|ended|ErrNoSlot|Exhausted`)

	predicate = regexp.MustCompile(`^func\((\w+ )?error\) (\(\w+ bool\)|bool)$`)
)

// classified reports a classifier that is asked about the error of the loop at cur, which ends with ctx and calls op,
// before anything asks whether ctx has ended. An operation that may end the loop itself may do so with an error of that
// kind.
func (c *checker) classified(cur inspector.Cursor, ctx, op ast.Expr) {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	fn := c.function(op)
	if !ok || fn == nil || c.stopsLoop(fn) || !c.ends(ctx) {
		return
	}
	v, ok := c.object(assign.Lhs[len(assign.Lhs)-1]).(*types.Var)
	if !ok || v.IsField() {
		return
	}

	end := cur.Node().End()
	outer := outermost(cur).Node()
	for n := range ast.Preorder(outer) {
		sel, ok := n.(*ast.SelectorExpr)
		if ok && n.Pos() > end && (asksContext.MatchString(c.name(sel)) || ended.MatchString(sel.Sel.Name)) {
			return
		}
	}
	for _, use := range c.uses[v] {
		if use.Node().Pos() < end || around(use) != around(cur) {
			continue
		}
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if assigned(use) != nil || ok && c.asksItself(call) {
			return
		}
		if ok && use.ParentEdgeKind() == edge.CallExpr_Args && c.classifier(call) {
			c.Reportf(call.Pos(), "if %s has ended, %s also matches the last attempt's error: ask for the context's end first [classify]", types.ExprString(ctx), v.Name())
			return
		}
	}
}

// asksItself reports whether the function that call calls asks whether a context has ended.
func (c *checker) asksItself(call *ast.CallExpr) bool {
	decl := c.function(call.Fun)
	return ended.MatchString(c.name(call.Fun)) || decl != nil && c.mentions(decl, asksContext)
}

// classifier reports whether call asks of which kind an error is.
func (c *checker) classifier(call *ast.CallExpr) bool {
	name := c.name(call.Fun)
	signature := types.TypeString(c.TypesInfo.TypeOf(call.Fun), nil)
	return name == "errors.As" || name == "errors.AsType" || predicate.MatchString(signature)
}
