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

var (
	// By its signature, a handler is a function that serves a request, a worker one that serves many callers, and a
	// hook one that all goroutines of a client call.
	handler = regexp.MustCompile(`^func(\[.*\])?\(.*\*net/http\.Request`)
	worker  = regexp.MustCompile(`^func(\[.*\])?\(\w+ context\.Context, `)
	hook    = regexp.MustCompile(`^func\((\w+ )?int\) time\.Duration$`)

	// What one of these names takes a lock, or runs something once.
	locks = regexp.MustCompile(`\.(Lock|TryLock|Acquire|TryAcquire)$|^\(\*sync\.Once\)|^sync\.Once`)
)

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
		stateful := held.stateful && !held.unknown
		if v.Kind() == types.ParamVar || c.foreign(v) {
			stateful = stateful || holdsState(typeName(v.Type()))
		}
		if stateful && shared(v) {
			c.Reportf(e.Pos(), "loops that can run at the same time share %s, which holds the state of one: build a policy for each [shared]", v.Name())
			return
		}
	}
}

// foreign reports whether v is a variable of another package.
func (c *checker) foreign(v *types.Var) bool { return v.Kind() == types.PackageVar && v.Pkg() != c.Pkg }

// concurrent reports whether a function around cur, outside of which v is declared, runs more than once at a
// time, without a lock. If once, the functions with parameters of a worker do not count.
func (c *checker) concurrent(cur inspector.Cursor, v *types.Var, once bool) bool {
	concurrent := c.foreign(v) && !starts(outermost(cur).Node()) // it is exported to be shared
	for fn := range cur.Enclosing(functions...) {
		outside := !within(v.Pos(), fn.Node())
		concurrent = concurrent || outside && (c.runsOften(fn.Node(), once) || c.started(fn, v))
	}
	return concurrent && !c.locks(outermost(cur).Node())
}

// runsOften reports whether fn is by its signature a function that runs more than once at a time.
func (c *checker) runsOften(fn ast.Node, once bool) bool {
	signature := c.signature(fn)
	if _, literal := fn.(*ast.FuncLit); literal {
		return handler.MatchString(signature) || hook.MatchString(signature)
	}
	return handler.MatchString(signature) || !once && c.serves(signature)
}

// serves reports whether a function with this signature runs for many requests or callers.
func (c *checker) serves(signature string) bool {
	return handler.MatchString(signature) || c.Pkg.Name() != "main" && worker.MatchString(signature)
}

// locks reports whether fn takes a lock or a place in a semaphore, or runs something once.
func (c *checker) locks(fn ast.Node) bool {
	tokens := []string{"struct{}{}", "true", "0", "1"}
	for n := range ast.Preorder(fn) {
		send, ok := n.(*ast.SendStmt)
		if ok && slices.Contains(tokens, types.ExprString(send.Value)) {
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
		if !ok || assigned(use) == nil {
			return false
		}
		return !decl.Name.IsExported() || decl.Recv != nil || c.serves(c.signature(decl))
	})
}
