package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var (
	// A function with one of these signatures has a context with a name.
	named = regexp.MustCompile(`^func(\[.*\])?\([^()]*?\b([a-z]\w*) context\.Context`)

	// An operation that uses one of stops may end its loop.
	stops = regexp.MustCompile(`\.(Permanent|PermanentError|Canceled|DeadlineExceeded|WithoutCancel)$|^(context\.Cause|\(context\.Context\)\.(Err|Done))$`)

	// A function that calls one of cuts goes on after a context.
	cuts = regexp.MustCompile(`^context\.(WithoutCancel|AfterFunc)$`)

	// What these return is a context that ends.
	ending = regexp.MustCompile(`^(context\.With(Cancel|Timeout|Deadline)(Cause)?|os/signal\.NotifyContext|.*\berrgroup\.WithContext|\(\*net/http\.Request\)\.Context)$`)

	// What these return is a context that does not end.
	unending = regexp.MustCompile(`^context\.(Background|TODO|WithoutCancel)$`)

	// What returns one of these types can fail, or its Scan can.
	failures = regexp.MustCompile(`(\berror\)?|\.Row)$`)
)

// context reports a loop at cur, with the policy p, that goes on when the context of its function is done, unless its
// operation may end it.
func (c *checker) context(cur inspector.Cursor, call *ast.CallExpr, e ast.Expr, p *policy) {
	op := c.operation(cur, call, e)
	if p.unknown || p.context || op == nil || c.stopsLoop(op) {
		return
	}
	if name := c.inScope(cur, op, e.Pos()); name != "" {
		c.Reportf(e.Pos(), "this loop goes on when %s is done: give its policy WithContext [context]", name)
	}
}

// stopsLoop reports whether op, or a function that it calls, may end its loop.
func (c *checker) stopsLoop(op ast.Node) bool {
	if c.mentions(op, stops) {
		return true
	}
	for n := range ast.Preorder(op) {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		if callee := c.function(call.Fun); callee != nil && c.mentions(callee, stops) {
			return true
		}
	}
	return false
}

// operation returns the function that the loop calls, or the one around a loop over Attempts or a Ticker. It returns
// nil if the package does not show it, or if such a loop may be left for another reason than success.
func (c *checker) operation(cur inspector.Cursor, call *ast.CallExpr, policy ast.Expr) ast.Node {
	if call.Args[0] != policy {
		return c.function(call.Args[0])
	}

	for loop := range outermost(cur).Preorder((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		body, _ := loop.LastChild()
		if body.Node().Pos() < call.Pos() {
			continue
		}
		for jump := range body.Preorder((*ast.ReturnStmt)(nil), (*ast.BranchStmt)(nil)) {
			if jump.Parent().Parent() != loop && !goesOn(jump) {
				return nil
			}
		}
		return outermost(cur).Node()
	}
	return nil
}

// inScope names the context that the loop at cur and pos should end with, or returns "": the one that op, its operation,
// passes on, or the parameter of a function that waits for the loop.
func (c *checker) inScope(cur inspector.Cursor, op ast.Node, pos token.Pos) string {
	outer := outermost(cur).Node()
	if strings.Contains(c.signature(outer), "*testing.") || c.mentions(outer, cuts) {
		return ""
	}

	passed := c.passed(op, pos)
	if i := slices.IndexFunc(passed, c.ends); i >= 0 {
		return types.ExprString(passed[i])
	}
	if c.mentions(op, unending) {
		return "" // it goes on on purpose
	}

	for fn := range cur.Enclosing(functions...) {
		if ctx := named.FindStringSubmatch(c.signature(fn.Node())); ctx != nil {
			return ctx[2]
		}

		// What runs beside the function, or after it, need not end with it.
		kind := fn.Parent().ParentEdgeKind()
		if kind == edge.GoStmt_Call || kind == edge.DeferStmt_Call {
			return ""
		}
	}
	return ""
}

// passed returns the contexts that are in scope at pos and that op, if op is around pos then after it, passes to
// functions which can fail.
func (c *checker) passed(op ast.Node, pos token.Pos) []ast.Expr {
	var passed []ast.Expr
	for n := range ast.Preorder(op) {
		call, ok := n.(*ast.CallExpr)
		earlier := within(pos, op) && n.Pos() < pos
		if ok && !earlier && c.fails(call) {
			passed = append(passed, c.contexts(call, pos)...)
		}
	}
	return passed
}

// fails reports whether call can fail.
func (c *checker) fails(call *ast.CallExpr) bool {
	return failures.MatchString(types.TypeString(c.TypesInfo.TypeOf(call), nil))
}

// contexts returns the arguments of call that are contexts in scope at pos.
func (c *checker) contexts(call *ast.CallExpr, pos token.Pos) []ast.Expr {
	var contexts []ast.Expr
	for _, ctx := range call.Args {
		v := c.contextOf(ctx)
		if v != nil && !v.IsField() && v.Pos() < pos && v.Parent().Contains(pos) {
			contexts = append(contexts, ctx)
		}
	}
	return contexts
}

// contextOf returns the variable that is the context e, or the request whose context e is, or nil.
func (c *checker) contextOf(e ast.Expr) *types.Var {
	want := "context.Context"
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok && c.name(call.Fun) == "(*net/http.Request).Context" {
		e = call.Fun.(*ast.SelectorExpr).X
		want = "net/http.Request"
	}
	if v, ok := c.object(e).(*types.Var); ok && typeName(v.Type()) == want {
		return v
	}
	return nil
}

// ends reports whether ctx may end: it is a parameter, comes from a request, or is made to be cancelled.
func (c *checker) ends(ctx ast.Expr) bool {
	if call, ok := ctx.(*ast.CallExpr); ok && unending.MatchString(c.name(call.Fun)) {
		return false
	}
	v, ok := c.object(ctx).(*types.Var)
	if !ok || v.Kind() == types.ParamVar {
		return true
	}
	return slices.ContainsFunc(c.uses[v], func(use inspector.Cursor) bool {
		call, ok := assigned(use).(*ast.CallExpr)
		return ok && ending.MatchString(c.name(call.Fun))
	})
}
