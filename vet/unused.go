package vet

import (
	"go/ast"
	"regexp"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// What one of results returns is all that it does.
var results = regexp.MustCompile(`^(Permanent|RetryAfter|With\w+)$`)

// unused reports the call of name at cur if nothing uses its result.
func (c *checker) unused(cur inspector.Cursor, call *ast.CallExpr, name string) {
	if cur.ParentEdgeKind() == edge.ExprStmt_X && results.MatchString(name) {
		c.Reportf(call.Pos(), "%s does nothing but return a value, which is lost here [unused]", name)
	}
}
