package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// By its signature, a handler is a function that serves a request, a worker one that serves many callers, a hook one
// that all goroutines of a client call, and named one whose context has a name. What locks names takes a lock or runs
// something once, what stops names may end a loop, and what cuts names goes on after a context.
var handler = regexp.MustCompile(`^func(\[.*\])?\(.*\*net/http\.Request`)
var worker = regexp.MustCompile(`^func(\[.*\])?\(\w+ context\.Context, `)
var hook = regexp.MustCompile(`^func\((\w+ )?int\) time\.Duration$`)
var named = regexp.MustCompile(`^func(\[.*\])?\([^()]*?\b([a-z]\w*) context\.Context`)
var locks = regexp.MustCompile(`\.(Lock|TryLock|Acquire|TryAcquire)$|^\(\*sync\.Once\)|^sync\.Once`)
var stops = regexp.MustCompile(`\.(Permanent|PermanentError|Canceled|DeadlineExceeded|WithoutCancel)$|^(context\.Cause|\(context\.Context\)\.(Err|Done))$`)
var cuts = regexp.MustCompile(`^context\.(WithoutCancel|AfterFunc)$`)

// shared reports the policy p of a loop at cur, which is e, if another loop can run it at the same time.
func (c *checker) shared(cur inspector.Cursor, e ast.Expr, p *policy, byHand bool) {
	for _, v := range p.path {
		scope := v.Parent()
		foreign := scope != nil && scope != c.Pkg.Scope() && !scope.Contains(e.Pos()) // a variable of another function

		held := &policy{checker: c, set: map[string][]ast.Expr{}}
		held.variable(v)
		given := v.Kind() == types.ParamVar && typeName(v.Type()) == "backoff.ExponentialBackOff"

		// A method that keeps its policy in a field and waits by hand may run once.
		once := byHand && v.IsField()
		if !foreign && (held.stateful && !held.unknown || given) && c.concurrent(cur, v, once) && !c.temporary(v) {
			c.Reportf(e.Pos(), "loops that can run at the same time share %s, which holds the state of one: build a policy for each [shared]", v.Name())
			return
		}
	}
}

// concurrent reports whether a function around cur, outside of which v is declared, runs more than once at a
// time, without a lock.
func (c *checker) concurrent(cur inspector.Cursor, v *types.Var, once bool) bool {
	concurrent := false
	for fn := range cur.Enclosing(functions...) {
		signature := c.signature(fn.Node())
		_, literal := fn.Node().(*ast.FuncLit)
		many := literal && hook.MatchString(signature) || (!literal && !once || handler.MatchString(signature)) && c.serves(signature)
		concurrent = concurrent || (many || c.started(fn, v)) && !within(v.Pos(), fn.Node())
	}

	return concurrent && !c.locks(outermost(cur).Node())
}

// serves reports whether a function with this signature runs for many requests or callers.
func (c *checker) serves(signature string) bool {
	return handler.MatchString(signature) || c.Pkg.Name() != "main" && worker.MatchString(signature)
}

// locks reports whether fn takes a lock or a place in a semaphore, or runs something once.
func (c *checker) locks(fn ast.Node) bool {
	for n := range ast.Preorder(fn) {
		send, ok := n.(*ast.SendStmt)
		if ok && slices.Contains([]string{"struct{}{}", "true", "0", "1"}, types.ExprString(send.Value)) {
			return true
		}
	}
	return c.mentions(fn, locks)
}

// started reports whether a loop that does not declare the variable v starts goroutines that run the literal fn.
func (c *checker) started(fn inspector.Cursor, v *types.Var) bool {
	for cur := range outermost(fn).Preorder((*ast.CallExpr)(nil)) {
		call, loop := cur.Node().(*ast.CallExpr), loopOf(cur)
		if loop == nil || v.IsField() || within(v.Pos(), loop) {
			continue
		}

		group := strings.HasSuffix(c.name(call.Fun), ".Go") && c.function(call.Args[0]) == fn.Node()
		if group || cur.ParentEdgeKind() == edge.GoStmt_Call && c.function(call.Fun) == fn.Node() {
			return true
		}
	}
	return false
}

// temporary reports whether v is a field of a struct that one request or session may make for itself: what sets it
// is not an exported function of the kind that makes a client for other packages.
func (c *checker) temporary(v *types.Var) bool {
	return v.IsField() && slices.ContainsFunc(c.uses[v], func(use inspector.Cursor) bool {
		decl, ok := outermost(use).Node().(*ast.FuncDecl)
		return ok && assigned(use) != nil && (!decl.Name.IsExported() || decl.Recv != nil || c.serves(c.signature(decl)))
	})
}

// context reports a loop at cur, with the policy p, that goes on when the context of its function is done, unless its
// operation may end it.
func (c *checker) context(cur inspector.Cursor, call *ast.CallExpr, e ast.Expr, p *policy) {
	op := c.operation(cur, call, e)
	if p.unknown || p.context || op == nil || c.mentions(op, stops) {
		return
	}
	for n := range ast.Preorder(op) {
		if call, ok := n.(*ast.CallExpr); ok {
			if callee := c.function(call.Fun); callee != nil && c.mentions(callee, stops) {
				return
			}
		}
	}

	for fn := range cur.Enclosing(functions...) {
		signature := c.signature(fn.Node())
		if ctx := named.FindStringSubmatch(signature); ctx != nil {
			if !strings.Contains(signature, "*testing.") && !c.mentions(fn.Node(), cuts) {
				c.Reportf(e.Pos(), "this loop goes on when %s is done: give its policy WithContext [context]", ctx[2])
			}
			return
		}

		// What runs beside the function, or after it, need not end with it.
		if slices.Contains([]edge.Kind{edge.GoStmt_Call, edge.DeferStmt_Call}, fn.Parent().ParentEdgeKind()) {
			return
		}
	}
}

// operation returns the function that the loop calls, or the one around a loop over Attempts or a Ticker. It returns
// nil if the package does not show it, or if such a loop may be left for another reason than success.
func (c *checker) operation(cur inspector.Cursor, call *ast.CallExpr, policy ast.Expr) ast.Node {
	if call.Args[0] != policy {
		return c.function(call.Args[0])
	}

	for loop := range outermost(cur).Preorder((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		body, _ := loop.LastChild()
		if body.Node().Pos() > call.Pos() {
			for jump := range body.Preorder((*ast.ReturnStmt)(nil), (*ast.BranchStmt)(nil)) {
				if !succeeds(jump, loop.Node()) {
					return nil
				}
			}
			return outermost(cur).Node()
		}
	}
	return nil
}

// succeeds reports whether the statement at jump goes on with loop, or leaves it where something is nil.
func succeeds(jump inspector.Cursor, loop ast.Node) bool {
	branch, ok := jump.Node().(*ast.BranchStmt)
	block := jump.Parent().Parent().Node()
	is, depends := block.(*ast.IfStmt)
	return block == loop || ok && branch.Tok == token.CONTINUE || depends && strings.HasSuffix(types.ExprString(is.Cond), "== nil")
}

// attempts reports a loop over Attempts at cur whose body never sets the local variable whose address it gave. A
// closure that uses the variable, or another pointer to it, may set it.
func (c *checker) attempts(cur inspector.Cursor, call *ast.CallExpr) {
	loop, ranges := cur.Parent().Node().(*ast.RangeStmt)
	address, ok := ast.Unparen(call.Args[1]).(*ast.UnaryExpr)
	if !ranges || !ok {
		return
	}

	sets := func(use inspector.Cursor) bool {
		kinds := []edge.Kind{edge.AssignStmt_Lhs, edge.RangeStmt_Key, edge.RangeStmt_Value}
		assigns := within(use.Node().Pos(), loop.Body) && slices.Contains(kinds, use.ParentEdgeKind())
		pointer := use.ParentEdgeKind() == edge.UnaryExpr_X && use.Parent().Node() != address
		return assigns || pointer || around(use) != around(cur)
	}
	v, ok := c.object(address.X).(*types.Var)
	if ok && !v.IsField() && v.Parent() != c.Pkg.Scope() && !slices.ContainsFunc(c.uses[v], sets) {
		c.Reportf(call.Args[1].Pos(), "this body never sets %s: Attempts panics at the end of its first pass [attempts]", v.Name())
	}
}

// budget reports a Budget that the function around cur makes for its loop with the policy p alone.
func (c *checker) budget(cur inspector.Cursor, p *policy) {
	decl, _ := around(cur).Node().(*ast.FuncDecl)
	if p.budget == nil || decl != nil && (decl.Name.Name == "main" || decl.Name.Name == "init") {
		return
	}

	// What holds the Budget, or a policy with it.
	holders, made := slices.Clone(p.holders), p.budget
	if v, ok := c.object(made).(*types.Var); ok {
		holders, made = append(holders, v), c.value(v)
	}
	if address, ok := made.(*ast.UnaryExpr); ok {
		if v, ok := c.object(address.X).(*types.Var); ok {
			holders = append(holders, v)
		}
	} else if !strings.HasPrefix(types.ExprString(made), "new(") {
		return
	}

	shared := func(v *types.Var) bool { return !c.confined(cur, v) }
	if !slices.ContainsFunc(holders, shared) {
		c.Reportf(p.budget.Pos(), "this Budget is made for one call, and protects nothing: share one between all calls [budget]")
	}
}

// confined reports whether v is a variable of the function around cur, in no other loop than what is there, and is
// read once.
func (c *checker) confined(cur inspector.Cursor, v *types.Var) bool {
	reads := 0
	for _, use := range c.uses[v] {
		kind := use.ParentEdgeKind()
		field := kind == edge.SelectorExpr_X && assigned(use.Parent()) != nil
		if kind != edge.AssignStmt_Lhs && kind != edge.ValueSpec_Names && !field {
			reads++
		}
		if around(use) != around(cur) || loopOf(use) != loopOf(cur) {
			return false
		}
	}
	return reads == 1 && v.Kind() == types.LocalVar
}

// unused reports the call at cur of Permanent or RetryAfter if its result, the marked error, is thrown away.
func (c *checker) unused(cur inspector.Cursor, call *ast.CallExpr, name string) {
	_, dropped := cur.Parent().Node().(*ast.ExprStmt)
	if assign, ok := cur.Parent().Node().(*ast.AssignStmt); ok {
		dropped = types.ExprString(assign.Lhs[min(cur.ParentEdgeIndex(), len(assign.Lhs)-1)]) == "_"
	}
	if dropped {
		c.Reportf(call.Pos(), "%s marks the error that it returns, and nothing uses that [unused]", name)
	}
}
