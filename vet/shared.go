package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// shared reports the policy e of a loop at cur if another loop can run it at the same time.
func (c *checker) shared(cur inspector.Cursor, e ast.Expr, byHand bool) {
	whole := c.policy(e)
	for i, v := range whole.way {
		scope := v.Parent()
		foreign := scope != nil && scope != c.Pkg.Scope() && !scope.Contains(e.Pos()) // a variable of another function
		p := &policy{checker: c}
		p.from(v, nil)
		exponential := v.Kind() == types.ParamVar && typeName(v.Type()) == "backoff.ExponentialBackOff"
		if !foreign && (p.stateful && !p.unknown || exponential) && c.concurrent(cur, v, whole.bases[i], byHand && v.IsField()) && !c.temporary(v) {
			c.Reportf(e.Pos(), "loops that can run at the same time share %s, which holds the state of one: build a policy for each", v.Name())
			return
		}
	}
}

// By its signature, handler is a function that serves a request, worker one that serves many callers, hook
// one that all goroutines of a client call, and named one whose context has a name.
var handler = regexp.MustCompile(`^func\(.*\*net/http\.Request`)
var worker = regexp.MustCompile(`^func\(\w+ context\.Context, `)
var hook = regexp.MustCompile(`^func\((\w+ )?int\) time\.Duration$`)
var named = regexp.MustCompile(`^func\([^()]*?\b([a-z]\w*) context\.Context`)

// locks holds the names of what takes a lock, and what programs send to take a place in a semaphore.
var locks = []string{"Lock", "TryLock", "Acquire", "TryAcquire", "struct{}{}", "true", "0", "1"}

// once is what runs a function once, however many call it.
var once = regexp.MustCompile(`^(\(\*sync\.Once\)\.Do|sync\.Once(Func|Values?))$`)

// concurrent reports whether a function around cur, outside of which v is declared, runs more than
// once at a time, without a lock that it or each of its callers takes. A method that keeps its policy in
// a field and waits by hand may run once. If v is a field, it is base's.
func (c *checker) concurrent(cur inspector.Cursor, v *types.Var, base types.Object, single bool) bool {
	concurrent := false
	for fn := range cur.Enclosing(functions...) {
		if once.MatchString(c.taker(fn)) {
			break
		}
		signature := c.signature(fn.Node())
		_, literal := fn.Node().(*ast.FuncLit)
		often := func(call ast.Expr) bool { return c.often(call, fn.Node(), base, map[fact]bool{}) }
		concurrent = concurrent || !within(v.Pos(), fn.Node()) && (handler.MatchString(signature) ||
			!literal && !single && c.Pkg.Name() != "main" && worker.MatchString(signature) ||
			literal && hook.MatchString(signature) || slices.ContainsFunc(c.facts[fact{fn.Node(), started}], often))
	}
	fn := outermost(cur).Node()
	calls := c.facts[fact{fn, called}]
	unlocked := func(call ast.Expr) bool {
		return !once.MatchString(c.taker(around(c.at[call]))) && !c.mentions(outermost(c.at[call]).Node(), locks...)
	}
	return concurrent && !c.mentions(fn, locks...) && (len(calls) == 0 || slices.ContainsFunc(calls, unlocked))
}

// often reports whether call, which calls or starts fn, can do so again for the same base while the
// goroutine still runs: whether it is in a loop, or in a function that is called in one. It does not ask
// again for the functions and bases that it has seen.
func (c *checker) often(call ast.Expr, fn ast.Node, base types.Object, seen map[fact]bool) bool {
	base = c.passed(base, fn, call)
	loop, caller := loopOf(c.at[call]), around(c.at[call]).Node()
	if base == nil || seen[fact{caller, base}] || c.awaited(call, fn, loop) {
		return false
	} else if loop != nil {
		return !within(base.Pos(), loop)
	}
	seen[fact{caller, base}] = true
	return slices.ContainsFunc(c.facts[fact{caller, called}], func(call ast.Expr) bool { return c.often(call, caller, base, seen) })
}

// awaited reports whether the function around call waits after it, and before its loop goes on, for a
// channel or a group that call or the function fn which it runs mentions, or that call returns.
func (c *checker) awaited(call ast.Expr, fn, loop ast.Node) bool {
	caller := around(c.at[call])
	for cur := range caller.Preorder((*ast.UnaryExpr)(nil), (*ast.CallExpr)(nil)) {
		var on ast.Expr // what it waits for
		switch n := cur.Node().(type) {
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				on = n.X
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Wait" {
				on = sel.X
			}
		}
		if on == nil || around(cur) != caller || loop != nil && !within(on.Pos(), loop) {
			continue
		}
		instead := false // of the call, in another case
		for clause := range c.at[call].Enclosing((*ast.CommClause)(nil), (*ast.CaseClause)(nil)) {
			instead = instead || within(on.Pos(), clause.Parent().Node()) && !within(on.Pos(), clause.Node())
		}
		v := c.object(on)
		if on == call || slices.Contains(c.facts[fact{v, assigned}], call) || on.Pos() > call.End() && !instead && v != nil && (c.uses(call, v) || c.uses(fn, v)) {
			return true
		}
	}
	return false
}

func (c *checker) uses(n ast.Node, v types.Object) bool {
	for n := range ast.Preorder(n) {
		if id, ok := n.(*ast.Ident); ok && c.object(id) == v {
			return true
		}
	}
	return false
}

// temporary reports whether v is a field of a struct that one request or session makes for itself: a
// function that runs for one makes it, or calls what makes it, and neither returns it nor keeps it in a
// field.
func (c *checker) temporary(v *types.Var) bool {
	serves := func(e ast.Expr) (serves bool) {
		for fn := range c.at[e].Enclosing(functions...) {
			signature := c.signature(fn.Node())
			_, results, _ := strings.Cut(signature, ") ")
			serves = serves || !strings.Contains(results, c.Pkg.Path()+".") && (handler.MatchString(signature) ||
				c.mentions(fn.Node(), started) || c.Pkg.Name() != "main" && worker.MatchString(signature))
		}
		kept, ok := c.at[e].Parent().Node().(*ast.AssignStmt)
		return serves && !(ok && strings.Contains(types.ExprString(kept.Lhs[0]), "."))
	}
	return v.IsField() && slices.ContainsFunc(c.facts[fact{v, assigned}], func(value ast.Expr) bool {
		fn := outermost(c.at[value]).Node()
		var of types.Object // what v is set in, if fn does not make it
		if set, ok := c.at[value].Parent().Node().(*ast.AssignStmt); ok {
			of = c.base(set.Lhs[0])
		}
		return serves(value) || slices.ContainsFunc(c.facts[fact{fn, called}], func(call ast.Expr) bool {
			made, ok := c.passed(of, fn, call).(*types.Var)
			return serves(call) && (!ok || made.Kind() == types.LocalVar)
		})
	})
}
