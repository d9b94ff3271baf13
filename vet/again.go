package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// What one of instant does takes no time that counts.
var instant = regexp.MustCompile(`^\(?\*?(log|log/slog|fmt|errors|context|strings|strconv)\.|^\(error\)|^(len|cap|append|new|make|string|panic)$|\.(Print|Debug|Info|Warn|Error|Log)\w*$`)

// again reports the call by a Retrier at cur if a loop repeats it when it fails, without a wait.
func (c *checker) again(cur inspector.Cursor, op ast.Expr) {
	loop, ok := loopOf(cur).(*ast.ForStmt)
	if !ok || loop.Post != nil || c.leaves(cur, loop) && !c.onlyContext(loop) {
		return
	}
	if c.endsLoop(cur, loop) || c.takesTime(cur.Node(), op, loop) {
		return
	}
	c.Reportf(cur.Node().Pos(), "this loop does not wait, and a call may return immediately: wait between two calls [again]")
}

// onlyContext reports whether the condition of loop is that a context lives.
func (c *checker) onlyContext(loop *ast.ForStmt) bool {
	condition, ok := loop.Cond.(*ast.BinaryExpr)
	return ok && condition.Op == token.EQL && c.mentions(condition.X, asksContext)
}

// endsLoop reports whether the failure of the call at cur, or what is done with it, leaves loop.
func (c *checker) endsLoop(cur inspector.Cursor, loop *ast.ForStmt) bool {
	if cur.ParentEdgeKind() == edge.ReturnStmt_Results {
		return true
	}
	leaves := false
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.IfStmt:
			condition := types.ExprString(n.Cond)
			failed := strings.HasSuffix(condition, "!= nil") && !strings.Contains(condition, "ctx.Err()")
			if failed && jumps(n.Body.List) {
				leaves = true
			}
			if els, ok := n.Else.(*ast.BlockStmt); ok && strings.HasSuffix(condition, "== nil") && jumps(els.List) {
				leaves = true
			}
		}
		return true
	})
	return leaves
}

// takesTime reports whether anything in loop but the call by a Retrier may wait.
func (c *checker) takesTime(call ast.Node, op ast.Expr, loop *ast.ForStmt) bool {
	takes := false
	ast.Inspect(loop, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return n != ast.Unparen(op)
		case *ast.SelectStmt, *ast.RangeStmt, *ast.SendStmt:
			takes = true
		case *ast.UnaryExpr:
			takes = takes || n.Op == token.ARROW
		case *ast.CallExpr:
			takes = takes || n != call && !instant.MatchString(c.name(n.Fun))
		}
		return n == nil || n != op
	})
	return takes
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
