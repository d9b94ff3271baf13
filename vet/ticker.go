package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

// ticker reports a receive at cur from the channel of a Ticker whose policy stops, if the loop around it goes on when
// the channel is closed.
func (c *checker) ticker(cur inspector.Cursor, receive *ast.UnaryExpr) {
	loop, ok := loopOf(cur).(*ast.ForStmt)
	if !ok || receive.Op != token.ARROW || hasOK(cur) || c.leaves(cur, loop) || once(cur, loop) {
		return
	}

	made, ok := ast.Unparen(c.value(c.ticking(receive.X))).(*ast.CallExpr)
	if !ok {
		return
	}
	name, version := c.callee(made)
	p := c.policy(loopPolicy(made, name, version))
	if version < 5 && p.ends() { // from v5 on no policy stops
		c.Reportf(receive.Pos(), "this channel is closed when the policy stops, and the loop goes on without waits: receive with ok [ticker]")
	}
}

// ticking returns the variable of the Ticker, if it is one, whose channel e is, or nil.
func (c *checker) ticking(e ast.Expr) types.Object {
	if value := c.value(c.object(e)); value != nil {
		e = value
	}
	if sel, ok := ast.Unparen(e).(*ast.SelectorExpr); ok {
		return c.object(sel.X)
	}
	return nil
}

// hasOK reports whether the receive at cur has a second value.
func hasOK(cur inspector.Cursor) bool {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	return ok && len(assign.Lhs) == 2
}

// once reports whether what follows the receive at cur, in its case and then in loop, leaves the loop for certain.
func once(cur inspector.Cursor, loop *ast.ForStmt) bool {
	var rest []ast.Stmt
	for clause := range cur.Enclosing((*ast.CommClause)(nil)) {
		if within(clause.Node().Pos(), loop) {
			rest = append(rest, clause.Node().(*ast.CommClause).Body...)
		}
	}
	if jumps(rest) {
		return true
	}

	for _, stmt := range loop.Body.List {
		if stmt.Pos() > cur.Node().Pos() {
			rest = append(rest, stmt)
		}
	}
	return jumps(rest)
}

// jumps reports whether body ends with a return or with a jump to a label, and does not go on with the loop before.
func jumps(body []ast.Stmt) bool {
	goesOn := false
	for _, stmt := range body {
		ast.Inspect(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				return false
			case *ast.BranchStmt:
				goesOn = goesOn || n.Tok == token.CONTINUE
			}
			return true
		})
	}
	if goesOn || len(body) == 0 {
		return false
	}

	switch last := body[len(body)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return last.Label != nil
	}
	return false
}
