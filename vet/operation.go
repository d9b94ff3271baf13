package vet

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var (
	// A request is made by newRequest, and sent by one of sendings.
	newRequest = regexp.MustCompile(`^net/http\.NewRequest(WithContext)?$`)
	sendings   = regexp.MustCompile(`^(\(\*net/http\.Client\)|net/http)\.(Do|Get|Head|Post|PostForm)$`)

	// One of runs runs a command.
	runs = regexp.MustCompile(`^\(\*os/exec\.Cmd\)\.(Run|Start|Output|CombinedOutput)$`)

	// What has one of these types is read once.
	reader = regexp.MustCompile(`^\*?(io\.Reader|io\.ReadCloser|bytes\.(Buffer|Reader)|strings\.Reader|os\.File)$`)
)

// repeats returns the function that the call at cur calls again and again, or the loop over Attempts at cur, or nil.
func (c *checker) repeats(cur inspector.Cursor) ast.Node {
	call := cur.Node().(*ast.CallExpr)
	if r, op := c.retrier(call); r != nil {
		return c.function(op)
	}
	name, version := c.callee(call)
	switch {
	case name == "Attempts" && cur.ParentEdgeKind() == edge.RangeStmt_X:
		return cur.Parent().Node()
	case !strings.HasPrefix(name, "Retry") || name == "RetryAfter" || len(call.Args) < 2:
		return nil
	case version < 5:
		return c.function(call.Args[0])
	}
	return c.function(call.Args[1])
}

// eachAttempt applies the rules for what is done in each attempt to op, which a loop repeats.
func (c *checker) eachAttempt(op ast.Node) {
	if c.inTest(op) {
		return
	}
	for n := range ast.Preorder(op) {
		switch n := n.(type) {
		case *ast.CallExpr:
			c.drained(op, n)
		case *ast.AssignStmt:
			c.unread(op, n)
		}
	}
}

// drained reports a body from outside of op that an attempt reads, so that the next one finds nothing in it.
func (c *checker) drained(op ast.Node, call *ast.CallExpr) {
	var body ast.Expr
	switch name := c.name(call.Fun); {
	case newRequest.MatchString(name):
		body = call.Args[len(call.Args)-1]
		v, ok := c.object(body).(*types.Var)
		if !ok || v.IsField() || within(v.Pos(), op) || !reader.MatchString(v.Type().String()) {
			return
		}
	case name == "(*net/http.Client).Do":
		body = c.sent(op, call.Args[0])
	case runs.MatchString(name):
		c.ran(op, call)
		return
	}
	filled := func(use inspector.Cursor) bool { // or rewound, perhaps
		return within(use.Node().Pos(), op) && !within(use.Node().Pos(), call)
	}
	if body != nil && !slices.ContainsFunc(c.uses[c.object(body)], filled) {
		c.Reportf(call.Pos(), "the first attempt reads %s to its end, and the next one sends nothing: make it in each attempt [body]", types.ExprString(body))
	}
}

// ran reports a command from outside of op that an attempt runs, which can be done once.
func (c *checker) ran(op ast.Node, call *ast.CallExpr) {
	v, ok := c.object(ast.Unparen(call.Fun).(*ast.SelectorExpr).X).(*types.Var)
	again := func(use inspector.Cursor) bool { // in each attempt, or in a function that it may call
		return assigned(use) != nil && (within(use.Node().Pos(), op) || !within(op.Pos(), around(use).Node()))
	}
	if ok && !v.IsField() && !within(v.Pos(), op) && !slices.ContainsFunc(c.uses[v], again) {
		c.Reportf(call.Pos(), "%s can be run once, and the next attempt fails: make it in each attempt [body]", v.Name())
	}
}

// sent returns the body of the request req, if that is made outside of op, which sets no field of it, or nil.
func (c *checker) sent(op ast.Node, req ast.Expr) ast.Expr {
	if call, ok := ast.Unparen(req).(*ast.CallExpr); ok && c.name(call.Fun) == "(*net/http.Request).WithContext" {
		req = call.Fun.(*ast.SelectorExpr).X
	}
	v, ok := c.object(req).(*types.Var)
	set := func(use inspector.Cursor) bool { return within(use.Node().Pos(), op) && assigned(use.Parent()) != nil }
	if !ok || v.IsField() || within(v.Pos(), op) || slices.ContainsFunc(c.uses[v], set) {
		return nil
	}
	made, ok := c.value(v).(*ast.CallExpr)
	if !ok || !newRequest.MatchString(c.name(made.Fun)) {
		return nil
	}
	body := made.Args[len(made.Args)-1]
	if c.TypesInfo.Types[body].IsNil() || c.name(body) == "net/http.NoBody" || types.ExprString(body) == "http.NoBody" {
		return nil
	}
	return body
}

// unread reports a response whose body op reads without a look at the status.
func (c *checker) unread(op ast.Node, assign *ast.AssignStmt) {
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if !ok || !sendings.MatchString(c.name(call.Fun)) || len(assign.Lhs) != 2 {
		return
	}
	resp, ok := c.object(assign.Lhs[0]).(*types.Var)
	if !ok || !within(resp.Pos(), op) || c.value(resp) != assign.Rhs[0] {
		return
	}

	read := false
	for _, use := range c.uses[resp] {
		field, ok := use.Parent().Node().(*ast.SelectorExpr)
		switch {
		case ok && field.Sel.Name == "Body":
			read = read || use.Parent().ParentEdgeKind() == edge.CallExpr_Args
		case ok && field.Sel.Name != "Header", !ok && assigned(use) == nil:
			return
		}
	}
	if read && !c.reported[call] {
		c.reported[call] = true
		c.Reportf(call.Pos(), "nothing looks at the status, so a 503 is a success: return an error for it [status]")
	}
}
