package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
)

// What these return ends with the context that they are given.
var derives = regexp.MustCompile(`^context\.With(Cancel|Timeout|Deadline|Value)`)

// attempt reports a context from outside that op, the operation of the call at cur by the Retrier r, passes on: with that,
// AttemptTimeout has no effect.
func (c *checker) attempt(cur inspector.Cursor, r, op ast.Expr) {
	lit, ok := c.function(op).(*ast.FuncLit)
	if !ok || c.mentions(outermost(cur).Node(), cuts) || slices.ContainsFunc(c.policy(r).set["AttemptTimeout"], c.negative) {
		return
	}

	var outside []ast.Expr
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.DeferStmt:
			return false // these may go on after the attempt
		case *ast.CallExpr:
			if c.fails(n) || derives.MatchString(c.name(n.Fun)) {
				outside = append(outside, c.contexts(n, lit.Pos())...)
			}
		}
		return true
	})
	if len(outside) > 0 && !c.reported[outside[0]] {
		c.reported[outside[0]] = true
		c.Reportf(outside[0].Pos(), "%s does not end with the attempt: use the context that the operation is given [attempt]", types.ExprString(outside[0]))
	}
}

// negative reports whether e is a constant below zero.
func (c *checker) negative(e ast.Expr) bool {
	value := c.TypesInfo.Types[e].Value
	return value != nil && constant.Sign(value) < 0
}
