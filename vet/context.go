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

var stops = []string{"Permanent", "PermanentError", "Canceled", "DeadlineExceeded", "WithoutCancel", "context.Context"}

// context reports a loop at cur that goes on when the context of its function is done, unless its
// operation may end it.
func (c *checker) context(cur inspector.Cursor, call *ast.CallExpr, e ast.Expr, v int) {
	p, op := c.policy(e), operation(cur, call)
	if call.Args[0] != e {
		op = c.function(call.Args[0])
	}
	if v > 4 || p.unknown || p.context || op == nil || c.mentions(op, stops...) || c.stopped(op, 2) {
		return
	}
	for fn := range cur.Enclosing(functions...) {
		signature := c.signature(fn.Node())
		ctx := named.FindStringSubmatch(signature)
		if ctx != nil && !strings.Contains(signature, "*testing.") && !c.mentions(fn.Node(), "WithoutCancel") && !c.over(fn, call.Pos()) {
			c.Reportf(e.Pos(), "this loop goes on when %s is done: give its policy WithContext", ctx[1])
		}
		if ctx != nil || slices.Contains([]edge.Kind{edge.GoStmt_Call, edge.DeferStmt_Call}, fn.Parent().ParentEdgeKind()) || c.taker(fn) == "context.AfterFunc" {
			return
		}
	}
}

// stopped reports whether a function that op calls may end the loop: it marks an error as permanent, or
// looks at the context for op. One that has its own work cut off by the context does not.
func (c *checker) stopped(op ast.Node, steps int) bool {
	stopped, known := c.known[fact{op, steps}]
	if known || steps == 0 {
		return stopped
	}
	for n := range ast.Preorder(op) {
		if call, ok := n.(*ast.CallExpr); ok && !stopped {
			fn := c.function(call.Fun)
			stopped = fn != nil && (c.mentions(fn, "Permanent", "PermanentError") || c.mentions(fn, stops...) && c.looks(fn) || c.stopped(fn, steps-1))
		}
	}
	c.known[fact{op, steps}] = stopped
	return stopped
}

var looked = regexp.MustCompile(`^(Err|Done|Cause|Canceled|DeadlineExceeded)$`)

// looks reports whether fn, which mentions a context or its errors, answers yes or no, hands its context
// to nobody, or asks for more than to wait no longer than its context.
func (c *checker) looks(fn ast.Node) bool {
	sig := c.sig(fn)
	works := func(call ast.Expr) bool { return !strings.HasPrefix(types.ExprString(call), "context.") }
	looks := strings.Contains(sig.Results().String(), "bool")
	for v := range sig.Params().Variables() {
		looks = looks || typeName(v.Type()) == "context.Context" && !slices.ContainsFunc(c.facts[fact{v, handed}], works)
	}
	for n := range ast.Preorder(fn) {
		sel, ok := n.(*ast.SelectorExpr)
		looks = looks || ok && looked.MatchString(sel.Sel.Name) && !c.selects(sel)
	}
	return looks
}

// selects reports whether n is the channel of a case of a select, or in what such a case returns.
func (c *checker) selects(n ast.Node) bool {
	for stmt := range c.at[n].Enclosing((*ast.ExprStmt)(nil), (*ast.ReturnStmt)(nil)) {
		_, ok := stmt.Parent().Node().(*ast.CommClause)
		return ok
	}
	return false
}

// over reports whether what stands at pos in fn runs after a receive from Done.
func (c *checker) over(fn inspector.Cursor, pos token.Pos) bool {
	leaves := func(s ast.Stmt) bool {
		_, returns := s.(*ast.ReturnStmt)
		_, jumps := s.(*ast.BranchStmt)
		return returns || jumps
	}
	for recv := range fn.Preorder((*ast.ExprStmt)(nil)) {
		arrow, ok := recv.Node().(*ast.ExprStmt).X.(*ast.UnaryExpr)
		block := recv.Parent()
		if clause, ok := block.Node().(*ast.CommClause); ok && !within(pos, clause) && !slices.ContainsFunc(clause.Body, leaves) {
			block = block.Parent().Parent().Parent() // the one around the select
		}
		if ok && arrow.Pos() < pos && strings.HasSuffix(types.ExprString(arrow.X), ".Done()") && within(pos, block.Node()) {
			return true
		}
	}
	return false
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
