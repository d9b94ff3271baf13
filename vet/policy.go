package vet

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// A policy is what a package shows of one.
type policy struct {
	*checker
	origin   ast.Expr       // the call or literal that makes it
	way      []*types.Var   // the variables and fields it comes through
	bases    []types.Object // and what they are fields of
	stateful bool           // it holds the state of a loop
	limited  bool           // by WithMaxRetries
	context  bool           // by WithContext, or WithRetryIf, which may look at the context
	unknown  bool           // it may be another, which the package does not show
}

func (c *checker) policy(e ast.Expr) *policy {
	p := &policy{checker: c}
	p.trace(e)
	p.unknown = p.unknown || p.origin == nil
	return p
}

func (p *policy) trace(e ast.Expr) {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		p.trace(e.X)
	case *ast.CompositeLit:
		p.made(e)
	case *ast.CallExpr:
		name, _, _ := p.callee(e)
		if !strings.HasPrefix(name, "With") || len(e.Args) == 0 {
			p.made(e)
			return
		}
		p.context = p.context || name == "WithContext" || name == "WithRetryIf"
		p.limited = p.limited || strings.HasPrefix(name, "WithMax")
		p.stateful = p.stateful || name != "WithContext"
		p.trace(e.Args[0])
	default:
		v, ok := p.object(e).(*types.Var)
		p.unknown = p.unknown || !ok
		if ok && !slices.Contains(p.way, v) {
			p.from(v, p.base(e))
		}
	}
}

func (p *policy) made(e ast.Expr) {
	name := typeName(p.TypesInfo.TypeOf(e))
	p.stateful = p.stateful || name == "backoff.ExponentialBackOff" || name == "backoff.LinearBackOff"
	made := strings.HasPrefix(name, "backoff.") && strings.HasSuffix(name, "BackOff")
	p.unknown = p.unknown || p.origin != nil || !made || name == "backoff.BackOff" || name == "backoff.StopBackOff"
	p.origin = e
}

func (p *policy) from(v *types.Var, base types.Object) {
	p.way, p.bases = append(p.way, v), append(p.bases, base)
	p.unknown = p.unknown || v.Kind() == types.ParamVar
	_, copied := v.Type().Underlying().(*types.Struct)
	for _, value := range p.facts[fact{v, assigned}] {
		// A struct that is assigned is a copy, another policy, of which nothing is known.
		if _, literal := value.(*ast.CompositeLit); copied && !literal {
			value = nil
		}
		p.trace(value)
	}
}

var options = map[string]string{"MaxElapsedTime": "WithMaxElapsedTime", "Stop": "WithRetryStopDuration"}

// setting returns what is assigned to a field of the policy's ExponentialBackOff, then what it is made
// with, and whether that is all for certain. A function of the package may be given the policy.
func (p *policy) setting(field string) (later, values []ast.Expr, certain bool) {
	all, certain := slices.Clone(p.way), !p.unknown
	for i := 0; i < len(all); i++ {
		later = append(later, p.facts[fact{all[i], field}]...)
		for _, call := range p.facts[fact{all[i], handed}] {
			v := p.taken(call.(*ast.CallExpr), all[i])
			certain = certain && v != nil
			if v != nil && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	values = slices.Clone(later)
	switch e := p.origin.(type) {
	case *ast.CallExpr:
		for _, option := range e.Args {
			name, _, _ := p.callee(option)
			certain = certain && name != ""
			if name != "" && name == options[field] {
				values = append(values, option.(*ast.CallExpr).Args[0])
			}
		}
		name, _, _ := p.callee(e)
		certain = certain && name != ""
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			if kv, ok := element.(*ast.KeyValueExpr); ok && types.ExprString(kv.Key) == field {
				values = append(values, kv.Value)
			}
		}
	}
	return later, values, certain
}

// ends reports whether the policy has a MaxElapsedTime for certain.
func (p *policy) ends() bool {
	_, stop, certain := p.setting("Stop")
	_, limits, _ := p.setting("MaxElapsedTime")
	_, literal := p.origin.(*ast.CompositeLit)
	value := func(e ast.Expr) string { return fmt.Sprint(p.TypesInfo.Types[e].Value) }
	other := func(e ast.Expr) bool { return value(e) != "-1" }
	none := func(e ast.Expr) bool { return value(e) == "0" || value(e) == "<nil>" }
	return certain && (len(limits) > 0 || !literal) && !slices.ContainsFunc(stop, other) && !slices.ContainsFunc(limits, none)
}

// settings reports an InitialInterval that v1 to v4 ignore when NextBackOff is called by hand, and a
// literal of v4 that in a loop never stops for want of Stop.
func (c *checker) settings(e ast.Expr, v int, byHand bool) {
	p := c.policy(e)
	initial, _, certain := p.setting("InitialInterval")
	resets, _, _ := p.setting("Reset")
	_, stop, _ := p.setting("Stop")
	lit, literal := p.origin.(*ast.CompositeLit)
	if byHand && !literal && certain && len(resets) == 0 && v > 0 && v < 5 && len(initial) > 0 && c.facts[fact{initial[0], reported}] == nil {
		c.note(initial[0], reported, e)
		c.Reportf(initial[0].Pos(), "InitialInterval has no effect before the next Reset, and there is none")
	} else if !byHand && literal && len(stop) == 0 && p.ends() && version(types.Unalias(p.TypesInfo.TypeOf(lit)).(*types.Named).Obj().Pkg()) == 4 {
		c.Reportf(e.Pos(), "this loop does not end after MaxElapsedTime, but goes on without waits: set Stop to backoff.Stop")
	}
}
