package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var (
	// A function that uses one of these asks whether a context has ended.
	asksContext = regexp.MustCompile(`^(context\.(Canceled|DeadlineExceeded|Cause)|\(context\.Context\)\.(Err|Done))$`)

	// What has one of these names asks for it, too, or for the end of the retries.
	ended = regexp.MustCompile(`(?i)cancel|deadline|timeout|context|ended|ErrNoSlot|Exhausted`)

	// An error that one of these variables holds is joined to others.
	joined = regexp.MustCompile(`^(context\.(Canceled|DeadlineExceeded)|example.com/backoff\.Err\w+)$`)

	predicate = regexp.MustCompile(`^func\((\w+ )?error\) (\(\w+ bool\)|bool)$`)
)

// failed applies the rules for what is asked about the error of the loop at cur, which ends with ctx. It calls op, if
// nothing else may end it. If joins, it joins the last error to another.
func (c *checker) failed(cur inspector.Cursor, ctx, op ast.Expr, joins bool) {
	assign, ok := cur.Parent().Node().(*ast.AssignStmt)
	if !ok {
		return
	}
	v, ok := c.object(assign.Lhs[len(assign.Lhs)-1]).(*types.Var)
	if !ok || v.IsField() || v.Kind() == types.PackageVar {
		return
	}

	fn := c.function(op)
	goesOn := fn != nil && !c.stopsLoop(fn)
	end := cur.Node().End()
	var uses []inspector.Cursor
	for _, use := range c.uses[v] {
		if use.Node().Pos() < end || around(use) != around(cur) {
			continue
		}
		if assigned(use) != nil {
			break
		}
		uses = append(uses, use)
		c.compared(use, joins && goesOn)
	}
	if c.ends(ctx) {
		c.classified(outermost(cur).Node(), end, uses, goesOn)
	}
}

// compared reports a comparison of the error at use, by == or in a switch, with one that it may be joined to. If joins,
// that is what any variable of a package holds.
func (c *checker) compared(use inspector.Cursor, joins bool) {
	var others []ast.Expr
	switch parent := use.Parent().Node().(type) {
	case *ast.BinaryExpr:
		others = []ast.Expr{parent.X, parent.Y}
	case *ast.SwitchStmt:
		for _, clause := range parent.Body.List {
			others = append(others, clause.(*ast.CaseClause).List...)
		}
	}
	for _, other := range others {
		v, ok := c.object(other).(*types.Var)
		if ok && v.Kind() == types.PackageVar && (joins || joined.MatchString(v.Pkg().Path()+"."+v.Name())) {
			c.Reportf(use.Node().Pos(), "this error has %s joined to another, and does not equal it: use errors.Is [equal]", types.ExprString(other))
			return
		}
	}
}

// classified reports the first question of which kind the error at uses is, if that comes before the question whether it
// is context.Canceled. If goesOn, somebody must ask that. The error exists from pos on, in fn.
func (c *checker) classified(fn ast.Node, pos token.Pos, uses []inspector.Cursor, goesOn bool) {
	for i, use := range uses {
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if !ok || use.ParentEdgeKind() != edge.CallExpr_Args {
			continue
		}
		if c.asks(fn, pos, call.End()) {
			return
		}
		c.classifiedBy(call, use.ParentEdgeIndex())
		if c.asksItself(call) {
			return
		}

		later := func(other inspector.Cursor) bool {
			question, ok := other.Parent().Node().(*ast.CallExpr)
			return ok && types.ExprString(question.Args[len(question.Args)-1]) == "context.Canceled" && statement(other) != statement(use)
		}
		classifier := c.classifier(call)
		never := classifier && goesOn && !c.asks(fn, pos, fn.End())
		if never || (classifier || c.name(call.Fun) == "errors.Is") && slices.ContainsFunc(uses[i+1:], later) {
			c.Reportf(call.Pos(), "an error of a cancelled call can match this, too: ask for context.Canceled first [classify]")
			return
		}
	}
}

// classifiedBy applies the rule classify to the i-th parameter of the function that call calls, if it is one of the package.
func (c *checker) classifiedBy(call *ast.CallExpr, i int) {
	decl, ok := c.function(call.Fun).(*ast.FuncDecl)
	if !ok || c.reported[decl.Name] {
		return
	}
	c.reported[decl.Name] = true
	params := c.TypesInfo.Defs[decl.Name].(*types.Func).Signature().Params()
	c.classified(decl, decl.Type.End(), c.uses[params.At(min(i, params.Len()-1))], false)
}

// asks reports whether anything in n, from pos to end, asks whether a context has ended.
func (c *checker) asks(n ast.Node, pos, end token.Pos) bool {
	for n := range ast.Preorder(n) {
		sel, ok := n.(*ast.SelectorExpr)
		if ok && pos < n.Pos() && n.Pos() < end && (asksContext.MatchString(c.name(sel)) || ended.MatchString(sel.Sel.Name)) {
			return true
		}
	}
	return false
}

// statement returns the innermost statement around the expression at cur.
func statement(cur inspector.Cursor) ast.Node {
	for {
		if _, ok := cur.Node().(ast.Expr); !ok {
			return cur.Node()
		}
		cur = cur.Parent()
	}
}

// asksItself reports whether the function that call calls asks whether a context has ended.
func (c *checker) asksItself(call *ast.CallExpr) bool {
	decl := c.function(call.Fun)
	return ended.MatchString(c.name(call.Fun)) || decl != nil && c.mentions(decl, asksContext)
}

// classifier reports whether call asks of which kind an error is.
func (c *checker) classifier(call *ast.CallExpr) bool {
	name := c.name(call.Fun)
	signature := types.TypeString(c.TypesInfo.TypeOf(call.Fun), nil)
	return name == "errors.As" || name == "errors.AsType" || predicate.MatchString(signature)
}
