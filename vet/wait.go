package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

var waits = []string{"time.Sleep", "time.After", "time.NewTimer", "(*time.Timer).Reset"}

// wait reports a call that waits for a NextBackOff which can be Stop and is compared with nothing, in a
// loop that nothing else limits.
func (c *checker) wait(cur inspector.Cursor, call *ast.CallExpr) {
	fn := typeutil.StaticCallee(c.TypesInfo, call)
	loop, ok := loopOf(cur).(*ast.ForStmt)
	if fn == nil || !slices.Contains(waits, fn.FullName()) || !ok || c.limited(cur, loop) {
		return
	}
	wait := call.Args[0]
	if obj := c.object(wait); len(c.facts[fact{obj, assigned}]) == 1 && c.facts[fact{obj, compared}] == nil {
		wait = c.facts[fact{obj, assigned}][0]
	}
	name, v, recv := c.callee(wait)
	p := c.policy(recv)
	if name == "NextBackOff" && v < 5 && !p.unknown && !within(p.origin.Pos(), loop) && (p.limited || p.ends()) {
		c.Reportf(call.Pos(), "NextBackOff can return Stop, -1, and %s does not wait then: compare it with Stop, or set MaxElapsedTime to 0", fn.Name())
	}
}

// In a loop, ends ask whether its time is over. Before it, limits set that time.
var ends = regexp.MustCompile(`^(time\.(Since|Until)|\(time\.Time\)\.(After|Before|Compare)|context\.Cause|\(context\.Context\)\.Err)$`)
var limits = regexp.MustCompile(`^(time\.After|context\.With(Timeout|Deadline)(Cause)?)$`)

// limited reports whether a count or a time may end the loop around cur, or a condition with an order.
func (c *checker) limited(cur inspector.Cursor, loop *ast.ForStmt) (limited bool) {
	for n := range ast.Preorder(outermost(cur).Node()) {
		inside := within(n.Pos(), loop)
		switch n := n.(type) {
		case *ast.IncDecStmt:
			limited = limited || inside
		case *ast.AssignStmt:
			limited = limited || inside && n.Tok != token.DEFINE && (n.Tok != token.ASSIGN || strings.HasSuffix(types.ExprString(n.Rhs[0]), " 1"))
		case *ast.BinaryExpr:
			limited = limited || loop.Cond != nil && within(n.Pos(), loop.Cond) && strings.ContainsAny(n.Op.String(), "<>")
		case *ast.SelectorExpr:
			fn, ok := c.TypesInfo.Uses[n.Sel].(*types.Func)
			limited = limited || ok && (inside && ends.MatchString(fn.FullName()) || n.Pos() < loop.Pos() && limits.MatchString(fn.FullName()))
		}
	}
	return limited
}
