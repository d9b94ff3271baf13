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
	ended = regexp.MustCompile(`(?i)cancel|deadline|timeout|context.|ended|ErrNoSlot|Exhausted`)

	predicate = regexp.MustCompile(`^func\((\w+ )?error\) (\(\w+ bool\)|bool)$`)
)

// failed applies the rules for what is asked about the error of the loop at cur, which ends with ctx. It calls op, or
// something that is not known. If joins, it joins the last error to another, unless that is Permanent.
func (c *checker) failed(cur inspector.Cursor, ctx, op ast.Expr, joins bool) {
	var failure ast.Expr
	end := cur.Node().End()
	switch parent := cur.Parent().Node().(type) {
	case *ast.AssignStmt:
		failure = parent.Lhs[len(parent.Lhs)-1]
	case *ast.RangeStmt: // over Attempts
		args := cur.Node().(*ast.CallExpr).Args
		if address, ok := args[len(args)-1].(*ast.UnaryExpr); ok {
			failure = address.X
		}
		end = parent.End()
	}
	v, ok := c.object(failure).(*types.Var)
	if !ok || v.IsField() || v.Kind() == types.PackageVar {
		return
	}

	fn := c.function(op)
	goesOn := fn != nil && !c.stopsLoop(fn)
	var uses []inspector.Cursor
	for _, use := range c.uses[v] {
		if use.Node().Pos() < end {
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
		if !ok || v.Kind() != types.PackageVar {
			continue
		}
		if joins || version(v.Pkg()) == own || asksContext.MatchString(v.Pkg().Path()+"."+v.Name()) {
			c.Reportf(use.Node().Pos(), "this error can be %s joined to another, which is not equal to it: use errors.Is [equal]", types.ExprString(other))
			return
		}
	}
}

// classified reports the first question of which kind the error at uses is, if the question whether it is
// context.Canceled comes later; or, if goesOn, if no such question comes at all. The error exists from pos on, in fn.
func (c *checker) classified(fn ast.Node, pos token.Pos, uses []inspector.Cursor, goesOn bool) {
	for i, use := range uses {
		call, ok := use.Parent().Node().(*ast.CallExpr)
		if !ok || use.ParentEdgeKind() != edge.CallExpr_Args {
			continue
		}
		if c.asks(fn, pos, call.End()) {
			return
		}
		if decl, ok := c.function(call.Fun).(*ast.FuncDecl); ok && !c.reported[decl.Name] {
			c.reported[decl.Name] = true
			params := c.TypesInfo.Defs[decl.Name].(*types.Func).Signature().Params()
			v := params.At(min(use.ParentEdgeIndex(), params.Len()-1))
			c.classified(decl, decl.Type.End(), c.uses[v], false)
		}
		if c.asksItself(call) {
			return
		}

		canceled := func(e ast.Expr) bool { return types.ExprString(e) == "context.Canceled" }
		later := func(other inspector.Cursor) bool {
			question, ok := other.Parent().Node().(*ast.CallExpr)
			return ok && slices.ContainsFunc(question.Args, canceled) && statement(other) != statement(use)
		}
		classifier := c.classifier(call)
		never := classifier && goesOn && !c.asks(fn, pos, fn.End())
		if never || (classifier || c.name(call.Fun) == "errors.Is") && slices.ContainsFunc(uses[i+1:], later) {
			c.Reportf(call.Pos(), "an error of a cancelled call can match this, too: ask for context.Canceled first [classify]")
			return
		}
	}
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

// classifier reports whether call asks of which kind an error is, and not only whether there is one.
func (c *checker) classifier(call *ast.CallExpr) bool {
	signature, ok := c.TypesInfo.TypeOf(call.Fun).(*types.Signature)
	if !ok || !predicate.MatchString(types.TypeString(signature, nil)) {
		name := c.name(call.Fun)
		return name == "errors.As" || name == "errors.AsType"
	}
	uses := c.uses[signature.Params().At(0)]
	return len(uses) < 2 || slices.ContainsFunc(uses, c.tells)
}

// tells reports whether what is done with the error at use can tell more than whether it is nil.
func (c *checker) tells(use inspector.Cursor) bool {
	_, dropped := statement(use).(*ast.ExprStmt)
	e, compared := use.Parent().Node().(*ast.BinaryExpr)
	return !dropped && !(compared && c.TypesInfo.Types[e.Y].IsNil()) && use.ParentEdgeKind() != edge.Field_Names
}
