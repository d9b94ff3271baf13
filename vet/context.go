package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var stops = []string{"Permanent", "PermanentError", "Canceled", "DeadlineExceeded", "WithoutCancel", "context.Context"}

// context reports a loop at cur that goes on when the context of its function is done, unless its
// operation may end it.
func (c *checker) context(cur inspector.Cursor, call *ast.CallExpr, e ast.Expr, v int) {
	p, op := c.policy(e), operation(cur, call)
	if call.Args[0] != e {
		op = c.function(call.Args[0])
	}
	if v > 4 || p.unknown || p.context || op == nil || c.mentions(op, stops...) {
		return
	}
	for n := range ast.Preorder(op) { // what the operation calls may end the loop, too
		if inner, ok := n.(*ast.CallExpr); ok && c.mentions(c.function(inner.Fun), "Permanent", "PermanentError") {
			return
		}
	}
	for fn := range cur.Enclosing(functions...) {
		signature := c.signature(fn.Node())
		ctx := named.FindStringSubmatch(signature)
		if ctx != nil && !strings.Contains(signature, "*testing.") && !c.mentions(fn.Node(), "WithoutCancel") {
			c.Reportf(e.Pos(), "this loop goes on when %s is done: give its policy WithContext", ctx[1])
		}
		if ctx != nil || slices.Contains([]edge.Kind{edge.GoStmt_Call, edge.DeferStmt_Call}, fn.Parent().ParentEdgeKind()) {
			return
		}
	}
}

// operation returns the function around a loop over the Attempts or the Ticker that call makes. It returns
// nil if an error may end that loop: if a return or a break has another condition than that something is nil.
func operation(cur inspector.Cursor, call *ast.CallExpr) ast.Node {
	// In a switch the case may be nil alone.
	succeeds := func(e ast.Expr) bool { return strings.HasSuffix("== "+types.ExprString(e), "== nil") }
	for loop := range outermost(cur).Preorder((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		body, _ := loop.LastChild()
		op := outermost(cur).Node()
		for n := range body.Preorder((*ast.ReturnStmt)(nil), (*ast.BranchStmt)(nil)) {
			branch, ok := n.Node().(*ast.BranchStmt)
			is, depends := n.Parent().Parent().Node().(*ast.IfStmt)
			clause, cases := n.Parent().Node().(*ast.CaseClause)
			stays := ok && (branch.Tok == token.CONTINUE || cases && branch.Label == nil)
			if !stays && (depends && !succeeds(is.Cond) || cases && !slices.ContainsFunc(clause.List, succeeds)) {
				op = nil
			}
		}
		if body.Node().Pos() > call.Pos() {
			return op
		}
	}
	return nil
}
