package vet

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// A policy is what a package shows of one.
type policy struct {
	*checker
	origin   ast.Expr              // the call or literal that makes it
	path     []*types.Var          // the variables and fields it comes through
	set      map[string][]ast.Expr // what its options and the fields of its ExponentialBackOff are set to
	budget   ast.Expr              // of its last WithBudget
	holders  []*types.Var          // of those in path, what that WithBudget is assigned to
	stateful bool                  // it holds the state of a loop
	context  bool                  // by WithContext, or WithRetryIf, which may look at the context
	reset    bool                  // by Reset, or by a loop
	handed   bool                  // to a function that may set more
	unknown  bool                  // it may be another, which the package does not show
}

func (c *checker) policy(e ast.Expr) *policy {
	p := &policy{checker: c, set: map[string][]ast.Expr{}}
	p.trace(e)
	p.unknown = p.unknown || p.origin == nil
	return p
}

// trace follows e to what makes the policy.
func (p *policy) trace(e ast.Expr) {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if _, ok := e.X.(*ast.CompositeLit); ok {
			p.trace(e.X)
		}
	case *ast.CompositeLit:
		p.made(e, e.Elts)
	case *ast.CallExpr:
		name, version := p.callee(e)
		if !strings.HasPrefix(name, "With") || len(e.Args) == 0 {
			p.handed = p.handed || version == 0
			p.made(e, e.Args)
			return
		}
		if name == "WithBudget" {
			p.budget, p.holders = e.Args[1], p.path
		}
		p.context = p.context || name == "WithContext" || name == "WithRetryIf"
		p.stateful = p.stateful || name != "WithContext"
		p.trace(e.Args[0])
	default:
		v, ok := p.object(e).(*types.Var)
		p.unknown = p.unknown || !ok
		if ok && !slices.Contains(p.path, v) {
			p.variable(v)
		}
	}
}

// made notes the call or literal that makes the policy, and its options or fields. Any other argument may set what is
// not known.
func (p *policy) made(e ast.Expr, settings []ast.Expr) {
	name := typeName(p.TypesInfo.TypeOf(e))
	made := strings.HasPrefix(name, "backoff.") && strings.HasSuffix(name, "BackOff")
	p.unknown = p.unknown || p.origin != nil || !made || name == "backoff.BackOff" || name == "backoff.StopBackOff"
	p.stateful = p.stateful || name == "backoff.ExponentialBackOff" || name == "backoff.LinearBackOff"
	p.origin = e

	for _, setting := range settings {
		option, version := p.callee(setting)
		if kv, ok := setting.(*ast.KeyValueExpr); ok {
			p.set[types.ExprString(kv.Key)] = []ast.Expr{kv.Value}
		} else if version != 0 {
			p.set[option] = setting.(*ast.CallExpr).Args
		} else {
			p.handed = true
		}
	}
}

// variable notes what the package does with a variable or field that holds the policy.
func (p *policy) variable(v *types.Var) {
	p.path = append(p.path, v)
	p.unknown = p.unknown || v.Kind() == types.ParamVar
	for _, use := range p.uses[v] {
		if value := assigned(use); value != nil {
			p.trace(value)
		}

		switch parent := use.Parent().Node().(type) {
		case *ast.SelectorExpr:
			name := parent.Sel.Name
			p.reset = p.reset || name == "Reset"
			if value := assigned(use.Parent()); value != nil {
				p.set[name] = append(p.set[name], value)
			}
		case *ast.CallExpr:
			name, version := p.callee(parent)
			p.reset = p.reset || loopPolicy(parent, name, version) == use.Node()
			p.handed = p.handed || version == 0 && use.ParentEdgeKind() == edge.CallExpr_Args
		}
	}
}

// ends reports whether the policy has a MaxElapsedTime for certain, and returns Stop after it.
func (p *policy) ends() bool {
	value := func(e ast.Expr) string { return fmt.Sprint(p.TypesInfo.Types[e].Value) }
	other := func(e ast.Expr) bool { return value(e) != "-1" }
	none := func(e ast.Expr) bool { return value(e) == "0" || value(e) == "<nil>" }

	limits := slices.Concat(p.set["MaxElapsedTime"], p.set["WithMaxElapsedTime"])
	stops := slices.Concat(p.set["Stop"], p.set["WithRetryStopDuration"])
	_, literal := p.origin.(*ast.CompositeLit)
	certain := !p.unknown && !p.handed && (len(limits) > 0 || !literal)
	return certain && !slices.ContainsFunc(limits, none) && !slices.ContainsFunc(stops, other)
}

// interval reports an InitialInterval that v1 to v4 ignore: it is set after NewExponentialBackOff, then
// NextBackOff is called by hand, and nothing calls Reset.
func (c *checker) interval(p *policy, version int) {
	set := p.set["InitialInterval"]
	_, made := p.origin.(*ast.CallExpr)
	if len(set) > 0 && made && !p.unknown && !p.handed && !p.reset && version > 0 && version < 5 && !c.reported[set[0]] {
		c.reported[set[0]] = true
		c.Reportf(set[0].Pos(), "InitialInterval has no effect before the next Reset, and there is none [interval]")
	}
}

// stop reports a literal of v4 that in a loop never stops for want of Stop.
func (c *checker) stop(e ast.Expr, p *policy) {
	lit, literal := p.origin.(*ast.CompositeLit)
	v4 := literal && strings.Contains(types.Unalias(c.TypesInfo.TypeOf(lit)).String(), "cenkalti/backoff/v4.")
	if v4 && p.set["Stop"] == nil && p.ends() {
		c.Reportf(e.Pos(), "this loop does not end after MaxElapsedTime, but goes on without waits: set Stop to backoff.Stop [stop]")
	}
}

// A loop waits by one of waits. One that calls one of asks asks whether its time is over, and one of limits before it
// sets that time.
var waits = regexp.MustCompile(`^(time\.Sleep|time\.After|time\.NewTimer|\(\*time\.Timer\)\.Reset)$`)
var asks = regexp.MustCompile(`^(time\.(Since|Until)|\(time\.Time\)\.(After|Before|Compare)|context\.Cause|\(context\.Context\)\.Err)$`)
var limits = regexp.MustCompile(`^(time\.After|context\.With(Timeout|Deadline)(Cause)?)$`)

// wait reports a call at cur that waits, in a loop that nothing else ends, for a NextBackOff which can be Stop and
// is compared with nothing.
func (c *checker) wait(cur inspector.Cursor, call *ast.CallExpr) {
	loop, ok := loopOf(cur).(*ast.ForStmt)
	if !ok || !waits.MatchString(c.name(call.Fun)) || c.leaves(cur, loop) {
		return
	}

	p := c.policy(c.waited(call.Args[0]))
	if p.ends() && !within(p.origin.Pos(), loop) {
		c.Reportf(call.Pos(), "NextBackOff can return Stop, -1, and %s does not wait then: compare it with Stop, or set MaxElapsedTime to 0 [wait]", c.object(call.Fun).Name())
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
	call, ok := use.Parent().Node().(*ast.CallExpr)
	given := ok && c.function(call.Fun) == nil && !strings.Contains(typeName(c.TypesInfo.TypeOf(call)), "bool")
	return !given && assigned(use) == nil
}

// leaves reports whether a count, a time or a condition with an order may end the loop around cur.
func (c *checker) leaves(cur inspector.Cursor, loop *ast.ForStmt) (leaves bool) {
	ast.Inspect(outermost(cur).Node(), func(n ast.Node) bool {
		inside := n != nil && within(n.Pos(), loop)
		switch n := n.(type) {
		case *ast.ReturnStmt:
			return false // what it asks a context for is its error
		case *ast.IncDecStmt:
			leaves = leaves || inside
		case *ast.BinaryExpr:
			leaves = leaves || loop.Cond != nil && within(n.Pos(), loop.Cond) && strings.ContainsAny(n.Op.String(), "<>")
		case *ast.SelectorExpr:
			leaves = leaves || inside && asks.MatchString(c.name(n)) || n.Pos() < loop.Pos() && limits.MatchString(c.name(n))
		}
		return true
	})
	return leaves
}
