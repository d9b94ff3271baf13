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
var instant = regexp.MustCompile(`^(log\.Print|log/slog\.|fmt\.|errors\.|context\.|strings\.|strconv\.)|^\((error|context\.Context)\)|^(len|cap|append|string)$|\.(Print|Debug|Info|Warn|Error|Log)\w*$`)

// again reports the call by a Retrier at cur if a loop repeats it when it fails, without a wait.
func (c *checker) again(cur inspector.Cursor) {
	loop, ok := loopOf(cur).(*ast.ForStmt)
	if !ok || loop.Post != nil || loop.Cond != nil && !c.unfinished(loop.Cond) {
		return
	}
	for at := range outermost(cur).Preorder((*ast.ForStmt)(nil)) {
		if at.Node() == loop && !c.pauses(at, cur) {
			c.Reportf(cur.Node().Pos(), "this loop does not wait, and a call may return immediately: wait between two calls [again]")
		}
	}
}

// unfinished reports whether the condition is that a context has not ended, or that there is an error.
func (c *checker) unfinished(condition ast.Expr) bool {
	e, ok := condition.(*ast.BinaryExpr)
	if ok && e.Op == token.NEQ {
		return c.TypesInfo.Types[e.Y].IsNil() && typeName(c.TypesInfo.TypeOf(e.X)) == "error"
	}
	return ok && e.Op == token.EQL && c.mentions(e.X, asksContext)
}

// pauses reports whether the loop may wait beside the call at cur, or end for another reason than its success or the end
// of a context.
func (c *checker) pauses(loop, cur inspector.Cursor) bool {
	pauses := false
	for at := range loop.Preorder() {
		if around(at) != around(cur) {
			continue
		}
		switch n := at.Node().(type) {
		case *ast.SelectStmt, *ast.RangeStmt, *ast.SendStmt, *ast.IncDecStmt:
			pauses = true
		case *ast.UnaryExpr:
			pauses = pauses || n.Op == token.ARROW
		case *ast.ReturnStmt, *ast.BranchStmt:
			pauses = pauses || !goesOn(at)
		case *ast.CallExpr:
			pauses = pauses || n != cur.Node() && !instant.MatchString(c.name(n.Fun))
		}
	}
	return pauses
}

// goesOn reports whether the statement at jump goes on with its loop, or leaves it after a success or with a context.
func goesOn(jump inspector.Cursor) bool {
	if branch, ok := jump.Node().(*ast.BranchStmt); ok && branch.Tok == token.CONTINUE {
		return true
	}
	block := jump.Parent()
	condition, ok := block.Parent().Node().(*ast.IfStmt)
	if !ok || block.ParentEdgeKind() == edge.IfStmt_Else {
		return false
	}
	text := types.ExprString(condition.Cond)
	return strings.HasSuffix(text, "== nil") || strings.Contains(text, ".Err() != nil")
}
