package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// A policy is what a package shows of one, or of a Retrier.
type policy struct {
	*checker
	origin   ast.Expr              // the call or literal that makes it
	path     []*types.Var          // the variables and fields it comes through
	helpers  []*ast.FuncDecl       // the functions that return it
	set      map[string][]ast.Expr // what fields, options and decorators are set to
	stateful bool                  // it holds the state of a loop
	context  bool                  // by WithContext
	reset    bool                  // by Reset, or by a loop
	handed   bool                  // to a function that may set more
	unknown  bool                  // it may be another, which the package does not show
}

// settings are the types whose values say how a service is called.
var settings = []string{
	"backoff.Retrier", "example.com/backoff/httpretry.Transport", "example.com/backoff/grpcretry.Options",
	"example.com/backoff/sqlretry.Options",
}

func isSettings(t types.Type) bool {
	_, pointer := t.(*types.Pointer)
	return !pointer && slices.Contains(settings, typeName(t))
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
		p.literal(e)
	case *ast.CallExpr:
		p.called(e)
	case *ast.IndexExpr: // of a map with a policy for each key
		p.trace(e.X)
	default:
		v, ok := p.object(e).(*types.Var)
		p.unknown = p.unknown || !ok
		if ok && !slices.Contains(p.path, v) {
			p.variable(v)
		}
	}
}

// literal notes a literal that makes the policy, or a map of policies.
func (p *policy) literal(lit *ast.CompositeLit) {
	if !isMap(p.TypesInfo.TypeOf(lit)) {
		p.made(lit, lit.Elts)
		return
	}
	for _, element := range lit.Elts {
		p.trace(element.(*ast.KeyValueExpr).Value)
	}
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// called notes a call that decorates the policy or makes it.
func (p *policy) called(call *ast.CallExpr) {
	if isMap(p.TypesInfo.TypeOf(call)) && p.name(call.Fun) == "make" || p.helped(call) {
		return
	}

	name, version := p.callee(call)
	if !strings.HasPrefix(name, "With") || len(call.Args) == 0 {
		p.handed = p.handed || version == 0
		p.made(call, call.Args)
		return
	}

	p.set[name] = append(p.set[name], call.Args[1:]...)
	if name == "WithContext" {
		p.context = true
	} else {
		p.stateful = true
	}
	p.trace(call.Args[0])
}

// helped follows call, if it is one of a function of the package, to what that returns, and reports whether it is.
func (p *policy) helped(call *ast.CallExpr) bool {
	decl, ok := p.function(call.Fun).(*ast.FuncDecl)
	if !ok || decl.Type.Results.NumFields() != 1 || slices.Contains(p.helpers, decl) {
		return false
	}
	p.helpers = append(p.helpers, decl)
	for _, made := range returned(decl) {
		p.trace(made)
	}
	return true
}

// made notes the call or literal that makes the policy, and its options or fields. Any other argument may set what is
// not known.
func (p *policy) made(e ast.Expr, given []ast.Expr) {
	name := typeName(p.TypesInfo.TypeOf(e))
	made := strings.HasPrefix(name, "backoff.") && strings.HasSuffix(name, "BackOff")
	if _, literal := e.(*ast.CompositeLit); literal {
		made = made || isSettings(p.TypesInfo.TypeOf(e))
	}
	if p.origin != nil && p.origin != e || !made || name == "backoff.BackOff" || name == "backoff.StopBackOff" {
		p.unknown = true
	}
	if holdsState(name) {
		p.stateful = true
	}
	p.origin = e

	for _, setting := range given {
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

// holdsState reports whether the type with this name is a policy of the library that holds the state of a loop.
func holdsState(typeName string) bool {
	return typeName == "backoff.ExponentialBackOff" || typeName == "backoff.LinearBackOff"
}

// variable notes what the package does with a variable or field that holds the policy.
func (p *policy) variable(v *types.Var) {
	p.path = append(p.path, v)
	p.unknown = p.unknown || v.Kind() == types.ParamVar
	p.handed = p.handed || v.Embedded() // what is around it may set its fields
	for _, use := range p.uses[v] {
		if value := assigned(use); value != nil {
			p.trace(value)
		} else if use.ParentEdgeKind() == edge.ValueSpec_Names && isSettings(v.Type()) {
			p.origin = use.Node().(ast.Expr) // the zero value
		}
		p.used(use)
	}
}

// used notes what the expression around a use of the policy's variable does with it.
func (p *policy) used(use inspector.Cursor) {
	if use.ParentEdgeKind() == edge.UnaryExpr_X { // its address
		use = use.Parent()
		p.handed = p.handed || use.ParentEdgeKind() != edge.CallExpr_Args
	}
	switch parent := use.Parent().Node().(type) {
	case *ast.SelectorExpr:
		name := parent.Sel.Name
		if name == "Reset" {
			p.reset = true
		}
		if value := assigned(use.Parent()); value != nil {
			p.set[name] = append(p.set[name], value)
		}
	case *ast.CallExpr:
		name, version := p.callee(parent)
		if loopPolicy(parent, name, version) == use.Node() {
			p.reset = true
		}
		r, _ := p.retrier(parent)
		_, builtin := p.object(parent.Fun).(*types.Builtin)
		if version == 0 && r == nil && !builtin && use.ParentEdgeKind() == edge.CallExpr_Args {
			p.handed = true
		}
	}
}

// outlives reports whether v, which is used at cur, is kept outside of region: in a field, in a package, or in a function
// around cur.
func outlives(v *types.Var, cur inspector.Cursor, region ast.Node) bool {
	kept := v.IsField() || v.Kind() == types.PackageVar || within(v.Pos(), outermost(cur).Node())
	return kept && !within(v.Pos(), region)
}
