package vet

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

var (
	// A loop waits by one of waits.
	waits = regexp.MustCompile(`^(time\.Sleep|time\.After|time\.NewTimer|\(\*time\.Timer\)\.Reset)$`)

	// A loop that calls one of asks looks whether its time is over.
	asks = regexp.MustCompile(`^(time\.(Since|Until)|\(time\.Time\)\.(After|Before|Compare)|context\.Cause|\(context\.Context\)\.Err)$`)

	// A function that calls one of limits before its loop sets the time of that.
	limits = regexp.MustCompile(`^(time\.After|context\.With(Timeout|Deadline)(Cause)?)$`)
)

// wait reports a call at cur that waits, in a loop that nothing else ends, for a NextBackOff which can be Stop and
// is compared with nothing.
func (c *checker) wait(cur inspector.Cursor, call *ast.CallExpr) {
	loop, ok := loopOf(cur).(*ast.ForStmt)
	if !ok || !waits.MatchString(c.name(call.Fun)) || c.leaves(cur, loop) {
		return
	}

	p := c.policy(c.waited(call.Args[0]))
	if p.ends() && !within(p.origin.Pos(), loop) {
		name := c.object(call.Fun).Name()
		c.Reportf(call.Pos(), "NextBackOff can return Stop, -1, and %s does not wait then: compare it with Stop, or set MaxElapsedTime to 0 [wait]", name)
	}
}

// waited returns the policy whose NextBackOff d is, or nil if the package may look at d.
func (c *checker) waited(d ast.Expr) ast.Expr {
	if v := c.object(d); v != nil {
		d = c.value(v)
		if slices.ContainsFunc(c.uses[v], c.looks) {
			return nil
		}
	}
	if name, v := c.callee(d); name == "NextBackOff" && v < 5 {
		return ast.Unparen(d).(*ast.CallExpr).Fun.(*ast.SelectorExpr).X
	}
	return nil
}

// looks reports whether the value at use is more than given to a function of another package that answers neither
// yes nor no.
func (c *checker) looks(use inspector.Cursor) bool {
	if assigned(use) != nil {
		return false
	}
	call, ok := use.Parent().Node().(*ast.CallExpr)
	if !ok || c.function(call.Fun) != nil {
		return true
	}
	return strings.Contains(typeName(c.TypesInfo.TypeOf(call)), "bool")
}

// leaves reports whether a count, a time or a condition with an order may end the loop around cur.
func (c *checker) leaves(cur inspector.Cursor, loop *ast.ForStmt) bool {
	leaves := false
	ast.Inspect(outermost(cur).Node(), func(n ast.Node) bool {
		inside := n != nil && within(n.Pos(), loop)
		switch n := n.(type) {
		case *ast.ReturnStmt:
			return false // what it asks a context for is its error
		case *ast.IncDecStmt:
			leaves = leaves || inside
		case *ast.BinaryExpr:
			condition := loop.Cond != nil && within(n.Pos(), loop.Cond)
			leaves = leaves || condition && strings.ContainsAny(n.Op.String(), "<>")
		case *ast.SelectorExpr:
			leaves = leaves || inside && asks.MatchString(c.name(n))
			leaves = leaves || n.Pos() < loop.Pos() && limits.MatchString(c.name(n))
		}
		return true
	})
	return leaves
}

// ends reports whether the policy returns Stop for certain, after a MaxElapsedTime or a number of retries.
func (p *policy) ends() bool {
	if p.unknown {
		return false
	}
	if p.set["WithMaxRetries"] != nil {
		return true
	}
	if p.handed {
		return false
	}

	limits := slices.Concat(p.set["MaxElapsedTime"], p.set["WithMaxElapsedTime"])
	_, literal := p.origin.(*ast.CompositeLit)
	if literal && len(limits) == 0 {
		return false
	}

	value := func(e ast.Expr) string { return fmt.Sprint(p.TypesInfo.Types[e].Value) }
	none := func(e ast.Expr) bool { return value(e) == "0" || value(e) == "<nil>" }
	other := func(e ast.Expr) bool { return value(e) != "-1" }
	stops := slices.Concat(p.set["Stop"], p.set["WithRetryStopDuration"])
	return !slices.ContainsFunc(limits, none) && !slices.ContainsFunc(stops, other)
}
