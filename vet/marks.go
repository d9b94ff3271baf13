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

// unused reports the call at cur of a function that changes nothing, if what it returns is thrown away.
func (c *checker) unused(cur inspector.Cursor, call *ast.CallExpr, name string) {
	_, dropped := cur.Parent().Node().(*ast.ExprStmt)
	if assign, ok := cur.Parent().Node().(*ast.AssignStmt); ok {
		dropped = types.ExprString(assign.Lhs[min(cur.ParentEdgeIndex(), len(assign.Lhs)-1)]) == "_"
	}
	if dropped {
		c.Reportf(call.Pos(), "%s changes nothing but what it returns, and nothing uses that [unused]", name)
	}
}

// success reports the call at cur of Permanent or RetryAfter if the error that it is given is nil there.
func (c *checker) success(cur inspector.Cursor, call *ast.CallExpr, name string) {
	v, ok := c.object(call.Args[0]).(*types.Var)
	if ok && (v.Kind() == types.LocalVar || v.Kind() == types.ParamVar || v.Kind() == types.ResultVar) && c.isNil(cur, v) {
		c.Reportf(call.Pos(), "%s is nil here, and %s(nil) means success: make an error [nil]", v.Name(), name)
	}
}

// isNil reports whether the variable v is nil at cur: a condition says so, and nothing sets v after it.
func (c *checker) isNil(cur inspector.Cursor, v *types.Var) bool {
	for at := cur; at.ParentEdgeKind() != edge.FuncDecl_Body && at.ParentEdgeKind() != edge.FuncLit_Body; at = at.Parent() {
		switch loop := at.Node().(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if c.sets(cur, v, loop.Pos(), loop.End()) {
				return false
			}
		}
		start, isNil := c.found(at, v)
		if start != token.NoPos {
			return isNil && !c.sets(cur, v, start, cur.Node().Pos())
		}
	}
	return false
}

// found returns from where on v is nil, or is not, as an if or a switch around cur or before it says, or NoPos.
func (c *checker) found(cur inspector.Cursor, v *types.Var) (start token.Pos, isNil bool) {
	kind := cur.ParentEdgeKind()
	switch parent := cur.Parent().Node().(type) {
	case *ast.IfStmt:
		// The innermost condition counts: what contradicts it is not reached.
		if kind == edge.IfStmt_Body && c.says(parent.Cond, v, token.NEQ, token.LAND) || kind == edge.IfStmt_Else && c.says(parent.Cond, v, token.EQL, token.LOR) {
			return cur.Node().Pos(), false
		}
		if kind == edge.IfStmt_Body && c.says(parent.Cond, v, token.EQL, token.LAND) || kind == edge.IfStmt_Else && c.says(parent.Cond, v, token.NEQ, token.LOR) {
			return cur.Node().Pos(), true
		}
	case *ast.CaseClause:
		if len(parent.List) == 1 && c.says(parent.List[0], v, token.NEQ, token.LAND) {
			return parent.Colon, false
		}
		if len(parent.List) == 1 && c.says(parent.List[0], v, token.EQL, token.LAND) {
			return parent.Colon, true
		}
	}

	for before, ok := cur.PrevSibling(); ok; before, ok = before.PrevSibling() {
		switch before := before.Node().(type) {
		case *ast.IfStmt:
			if before.Else == nil && c.says(before.Cond, v, token.NEQ, token.LOR) && jumps(before.Body.List) {
				return before.End(), true
			}
		case *ast.CaseClause:
			says := func(e ast.Expr) bool { return c.says(e, v, token.NEQ, token.LOR) }
			if slices.ContainsFunc(before.List, says) && !fallsThrough(before) {
				return before.End(), true
			}
		}
	}
	return token.NoPos, false
}

// says reports whether e compares v with nil by op, alone or joined to other conditions by join.
func (c *checker) says(e ast.Expr, v *types.Var, op, join token.Token) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	either := b.Op == join && (c.says(b.X, v, op, join) || c.says(b.Y, v, op, join))
	return either || b.Op == op && c.object(b.X) == v && types.ExprString(b.Y) == "nil"
}

// jumps reports whether what follows a block of the statements list is not reached from the block.
func jumps(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch last := list[len(list)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		return strings.HasPrefix(types.ExprString(last.X), "panic(")
	}
	return false
}

func fallsThrough(clause *ast.CaseClause) bool {
	if len(clause.Body) == 0 {
		return false
	}
	last, ok := clause.Body[len(clause.Body)-1].(*ast.BranchStmt)
	return ok && last.Tok == token.FALLTHROUGH
}

// sets reports whether something sets v from start to end, or may set it at any time: a pointer, or a function that
// is not around cur.
func (c *checker) sets(cur inspector.Cursor, v *types.Var, start, end token.Pos) bool {
	return slices.ContainsFunc(c.uses[v], func(use inspector.Cursor) bool {
		pos := use.Node().Pos()
		switch use.ParentEdgeKind() {
		case edge.UnaryExpr_X:
			return use.Parent().Node().(*ast.UnaryExpr).Op == token.AND
		case edge.AssignStmt_Lhs, edge.RangeStmt_Key, edge.RangeStmt_Value:
			return start <= pos && pos < end || !within(cur.Node().Pos(), around(use).Node())
		}
		return false
	})
}
