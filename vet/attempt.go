package vet

import (
	"go/ast"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/ast/inspector"
)

// What these return ends with the context that they are given.
var derives = regexp.MustCompile(`^context\.With(Cancel|Timeout|Deadline|Value)`)

// attempt reports a context from outside that op, the operation of the call at cur by the Retrier r, passes on: with that,
// AttemptTimeout has no effect.
func (c *checker) attempt(cur inspector.Cursor, r, op ast.Expr) {
	lit, ok := c.function(op).(*ast.FuncLit)
	if !ok || c.mentions(outermost(cur).Node(), cuts) || !c.timed(r) {
		return
	}

	var outside []ast.Expr
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.DeferStmt:
			return false // these may go on after the attempt
		case *ast.CallExpr:
			if c.fails(n) && !c.lasts(n) || derives.MatchString(c.name(n.Fun)) {
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

// lasts reports whether what call returns first may be used after the attempt, such as a connection.
func (c *checker) lasts(call *ast.CallExpr) bool {
	results, ok := c.TypesInfo.TypeOf(call).(*types.Tuple)
	if !ok {
		return false
	}
	for _, method := range []string{"Close", "CloseSend", "Recv", "Done"} {
		if obj, _, _ := types.LookupFieldOrMethod(results.At(0).Type(), true, c.Pkg, method); obj != nil {
			return true
		}
	}
	return false
}
