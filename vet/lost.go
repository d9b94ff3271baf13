package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

var (
	// A mark is what one of marks returns.
	marks = regexp.MustCompile(`^(Permanent|RetryAfter)$`)

	// One of formats makes an error, which wraps what stands under a %w.
	formats = regexp.MustCompile(`^(fmt|github\.com/pkg/errors|golang\.org/x/xerrors)\.Errorf$`)

	verb = regexp.MustCompile(`%[-+# 0]*[0-9.]*([a-zA-Z%])`)
)

// printed reports a mark that the call at cur makes part of a text.
func (c *checker) printed(cur inspector.Cursor, call *ast.CallExpr) {
	if !formats.MatchString(c.name(call.Fun)) || len(call.Args) == 0 {
		return
	}
	value := c.TypesInfo.Types[call.Args[0]].Value
	if value == nil {
		return
	}
	format := constant.StringVal(value)
	if strings.Contains(format, "*") || strings.Contains(format, "%[") {
		return // these take arguments in another order
	}

	args := call.Args[1:]
	for _, found := range verb.FindAllStringSubmatch(format, -1) {
		if found[1] == "%" {
			continue
		}
		if len(args) == 0 {
			return
		}
		if name := c.mark(cur, args[0]); name != "" && found[1] != "w" {
			c.Reportf(args[0].Pos(), "what %s returns is only text under %%%s: use %%w [lost]", name, found[1])
		}
		args = args[1:]
	}
}

// mark names the function whose mark e is, as the code before cur shows, or returns "". In an operation, it may also be
// what a function of the package returns.
func (c *checker) mark(cur inspector.Cursor, e ast.Expr) string {
	if v, ok := c.object(e).(*types.Var); ok {
		e = c.last(cur, v)
	}
	made := []ast.Expr{e}
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok && slices.Contains(c.repeated, around(cur).Node()) {
		if decl, ok := c.function(call.Fun).(*ast.FuncDecl); ok {
			made = append(made, returned(decl)...)
		}
	}
	for _, result := range made {
		if name, _ := c.callee(result); marks.MatchString(name) {
			return name
		}
	}
	return ""
}

// last returns what is assigned to v last before cur in the same function, or nil. What is assigned in a block that cur
// is not in, and that ends with a jump, does not come to cur.
func (c *checker) last(cur inspector.Cursor, v *types.Var) ast.Expr {
	var last ast.Expr
	for _, use := range c.uses[v] {
		value := assigned(use)
		if value == nil || value.End() >= cur.Node().Pos() || around(use) != around(cur) {
			continue
		}
		block := use.Parent().Parent()
		end, _ := block.LastChild()
		switch end.Node().(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			if !block.Contains(cur) {
				continue
			}
		}
		last = value
	}
	return last
}
