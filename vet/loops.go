package vet

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// By its signature, a handler is a function that serves a request, a worker one that serves many callers, and a hook
// one that all goroutines of a client call. What locks names takes a lock or runs something once.
var handler = regexp.MustCompile(`^func(\[.*\])?\(.*\*net/http\.Request`)
var worker = regexp.MustCompile(`^func(\[.*\])?\(\w+ context\.Context, `)
var hook = regexp.MustCompile(`^func\((\w+ )?int\) time\.Duration$`)
var locks = regexp.MustCompile(`\.(Lock|TryLock|Acquire|TryAcquire)$|^\(\*sync\.Once\)|^sync\.Once`)

// shared reports the policy p of a loop at cur, which is e, if another loop can run it at the same time.
func (c *checker) shared(cur inspector.Cursor, e ast.Expr, p *policy, byHand bool) {
	c.reportShared(e, p, func(v *types.Var) bool {
		scope := v.Parent()
		elsewhere := scope != nil && v.Kind() != types.PackageVar && !scope.Contains(e.Pos()) // in another function

		// A method that keeps its policy in a field and waits by hand may run once.
		once := byHand && v.IsField()
		return !elsewhere && c.concurrent(cur, v, once) && !c.temporary(v)
	})
}

// reportShared reports the policy p, which is e, if it comes through a variable that is shared and holds the state of a
// loop.
func (c *checker) reportShared(e ast.Expr, p *policy, shared func(v *types.Var) bool) {
	for _, v := range p.path {
		held := &policy{checker: c, set: map[string][]ast.Expr{}}
		held.variable(v)
		t := typeName(v.Type())
		typed := (v.Kind() == types.ParamVar || c.foreign(v)) && (t == "backoff.ExponentialBackOff" || t == "backoff.LinearBackOff")
		if (held.stateful && !held.unknown || typed) && shared(v) {
			c.Reportf(e.Pos(), "loops that can run at the same time share %s, which holds the state of one: build a policy for each [shared]", v.Name())
			return
		}
	}
}

// foreign reports whether v is a variable of another package.
func (c *checker) foreign(v *types.Var) bool { return v.Kind() == types.PackageVar && v.Pkg() != c.Pkg }

// concurrent reports whether a function around cur, outside of which v is declared, runs more than once at a
// time, without a lock.
func (c *checker) concurrent(cur inspector.Cursor, v *types.Var, once bool) bool {
	concurrent := c.foreign(v) && !starts(outermost(cur).Node()) // it is exported to be shared
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
