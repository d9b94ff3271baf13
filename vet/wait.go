package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

var waits = []string{"time.Sleep", "time.After", "time.NewTimer", "(*time.Timer).Reset"}

// wait reports a call that waits for a NextBackOff which can be Stop and is compared with nothing, in a
// loop that nothing else limits.
func (c *checker) wait(call *ast.CallExpr) {
	if fn := typeutil.StaticCallee(c.TypesInfo, call); fn != nil && slices.Contains(waits, fn.FullName()) {
		c.waitFor(call, call.Args[0], fn.Name(), steps)
	}
}

// waitFor follows the wait d of a function that call calls to the NextBackOff that it comes from.
func (c *checker) waitFor(call, d ast.Expr, name string, steps int) {
	fn, v := around(c.at[call]).Node(), c.object(d)
	if i := c.parameter(fn, v); i >= 0 && c.facts[fact{v, assigned}] == nil && steps > 0 && !c.asks(v, steps) && !c.limited(fn, fn) {
		for _, outer := range c.facts[fact{fn, called}] {
			if args := outer.(*ast.CallExpr).Args; i < len(args) {
				c.waitFor(outer, args[i], name, steps-1)
			}
		}
	} else if b, base := c.source(d, steps); b != nil {
		c.spin(call, call, b, base, name, map[fact]bool{})
	}
}

// source returns the policy whose NextBackOff the wait d is, and the variable that it belongs to.
func (c *checker) source(d ast.Expr, steps int) (b ast.Expr, base types.Object) {
	if v := c.object(d); v != nil {
		values := c.facts[fact{v, assigned}]
		if len(values) != 1 || c.asks(v, steps) {
			return nil, nil
		}
		d = values[0]
	}
	call, ok := ast.Unparen(d).(*ast.CallExpr)
	if !ok || steps == 0 {
		return nil, nil
	}
	if name, v, recv := c.callee(call); name == "NextBackOff" && v < 5 {
		return recv, c.base(recv)
	}
	// A function of the package that has one return may return a NextBackOff.
	fn := c.function(call.Fun)
	var results []ast.Expr
	if fn != nil && !c.limited(fn, fn) {
		for n := range ast.Preorder(fn) {
			if ret, ok := n.(*ast.ReturnStmt); ok {
				results = append(results, ret.Results...)
			}
		}
	}
	if len(results) != 1 {
		return nil, nil
	}
	b, base = c.source(results[0], steps-1)
	return c.argument(b, fn, call), c.passed(base, fn, call)
}

// spin reports the call that waits for the policy b, if at, which is it or calls its function, is in a
// loop. It does not look again at the functions and bases that it has seen.
func (c *checker) spin(call, at, b ast.Expr, base types.Object, name string, seen map[fact]bool) {
	fn, loop := around(c.at[at]).Node(), loopOf(c.at[at])
	if loop == nil && !seen[fact{fn, base}] && !c.limited(fn, fn) {
		seen[fact{fn, base}] = true
		for _, outer := range c.facts[fact{fn, called}] {
			if _, ok := c.at[outer].Parent().Node().(*ast.GoStmt); !ok {
				c.spin(call, outer, c.argument(b, fn, outer), c.passed(base, fn, outer), name, seen)
			}
		}
	}
	if _, ok := loop.(*ast.ForStmt); !ok || base == nil || within(base.Pos(), loop) || c.facts[fact{call, reported}] != nil {
		return
	}
	if p := c.policy(b); !p.unknown && !within(p.origin.Pos(), loop) && (p.limited || p.ends()) && !c.limited(fn, loop) {
		c.note(call, reported, call)
		c.Reportf(call.Pos(), "NextBackOff can return Stop, -1, and %s does not wait then: compare it with Stop, or set MaxElapsedTime to 0", name)
	}
}

// asks reports whether the package compares v, or hands it to a function that does or that answers yes or no.
func (c *checker) asks(v types.Object, steps int) bool {
	return c.facts[fact{v, compared}] != nil || steps > 0 && slices.ContainsFunc(c.facts[fact{v, handed}], func(e ast.Expr) bool {
		call := e.(*ast.CallExpr)
		if strings.Contains(types.TypeString(c.TypesInfo.TypeOf(call), nil), "bool") {
			return true
		}
		taken := c.taken(call, v)
		return taken != nil && c.asks(taken, steps-1)
	})
}

// In a loop, ends ask whether its time is over. Before it, limits set that time.
var ends = regexp.MustCompile(`^(time\.(Since|Until)|\(time\.Time\)\.(After|Before|Compare)|context\.Cause|\(context\.Context\)\.Err)$`)
var limits = regexp.MustCompile(`^(time\.After|context\.With(Timeout|Deadline)(Cause)?)$`)

// limited reports whether a count or a time may end the loop in fn, or a condition with an order. If loop
// is fn itself, it is a part of a loop elsewhere.
func (c *checker) limited(fn, loop ast.Node) bool {
	limited, known := c.known[fact{loop, "limited"}]
	if known {
		return limited
	}
	cond := loop
	if loop, ok := loop.(*ast.ForStmt); ok {
		cond = loop.Cond
	}
	for n := range ast.Preorder(outermost(c.at[fn]).Node()) {
		inside := within(n.Pos(), loop)
		switch n := n.(type) {
		case *ast.IncDecStmt:
			limited = limited || inside
		case *ast.AssignStmt:
			limited = limited || inside && n.Tok != token.DEFINE && (n.Tok != token.ASSIGN || strings.HasSuffix(types.ExprString(n.Rhs[0]), " 1"))
		case *ast.BinaryExpr:
			limited = limited || cond != nil && within(n.Pos(), cond) && strings.ContainsAny(n.Op.String(), "<>")
		case *ast.SelectorExpr:
			fn, ok := c.TypesInfo.Uses[n.Sel].(*types.Func)
			limited = limited || ok && (inside && ends.MatchString(fn.FullName()) && !c.selects(n) || n.Pos() < loop.Pos() && limits.MatchString(fn.FullName()))
		}
	}
	c.known[fact{loop, "limited"}] = limited
	return limited
}
