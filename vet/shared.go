package vet

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// shared reports the policy e of a loop at cur if another loop can run it at the same time.
func (c *checker) shared(cur inspector.Cursor, e ast.Expr, byHand bool) {
	for _, v := range c.policy(e).way {
		scope := v.Parent()
		foreign := scope != nil && scope != c.Pkg.Scope() && !scope.Contains(e.Pos()) // a variable of another function
		p := &policy{checker: c}
		p.from(v)
		exponential := v.Kind() == types.ParamVar && typeName(v.Type()) == "backoff.ExponentialBackOff"
		if !foreign && (p.stateful && !p.unknown || exponential) && c.concurrent(cur, v, byHand && v.IsField()) && !c.temporary(v) {
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

// concurrent reports whether a function around cur, outside of which v is declared, runs more than
// once at a time, without a lock that it or each of its callers takes. A method that keeps its policy in
// a field and waits by hand may run once.
func (c *checker) concurrent(cur inspector.Cursor, v *types.Var, single bool) bool {
	concurrent := false
	inLoop := func(e ast.Expr) bool { return loopOf(c.at[e]) != nil && !within(v.Pos(), loopOf(c.at[e])) }
	for fn := range cur.Enclosing(functions...) {
		signature := c.signature(fn.Node())
		_, literal := fn.Node().(*ast.FuncLit)
		concurrent = concurrent || !within(v.Pos(), fn.Node()) && (handler.MatchString(signature) ||
			!literal && !single && c.Pkg.Name() != "main" && worker.MatchString(signature) ||
			literal && (hook.MatchString(signature) || slices.ContainsFunc(c.facts[fact{fn.Node(), started}], inLoop)))
	}
	fn := outermost(cur).Node()
	calls := c.facts[fact{fn, called}]
	unlocked := func(call ast.Expr) bool { return !c.mentions(outermost(c.at[call]).Node(), locks...) }
	return concurrent && !c.mentions(fn, locks...) && (len(calls) == 0 || slices.ContainsFunc(calls, unlocked))
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
		return serves(value) || slices.ContainsFunc(c.facts[fact{outermost(c.at[value]).Node(), called}], serves)
	})
}
