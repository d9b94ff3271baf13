package vet

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// A checker applies the rules to a package.
type checker struct {
	*analysis.Pass
	root  inspector.Cursor
	facts map[fact][]ast.Expr // a nil among them is one that cannot be followed
}

// A fact is what a package does with a variable or field: it assigns to it, hands it to a function of
// another package than the library, calls a method, or sets a field of the policy that it is.
type fact struct {
	obj  types.Object
	what string
}

const assigned, handed = "=", "()"

func (c *checker) learn() {
	for cur := range c.root.Preorder() {
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				var right ast.Expr
				if len(n.Lhs) == len(n.Rhs) {
					right = n.Rhs[i]
				}
				c.note(left, assigned, right)
				if sel, ok := left.(*ast.SelectorExpr); ok {
					c.note(sel.X, sel.Sel.Name, right)
				}
			}
		case *ast.ValueSpec:
			for i, value := range n.Values {
				c.note(n.Names[i], assigned, value)
			}
		case *ast.KeyValueExpr:
			if v, ok := c.object(n.Key).(*types.Var); ok && v.IsField() {
				c.note(n.Key, assigned, n.Value)
			}
		case *ast.CallExpr:
			name, v, recv := c.callee(n)
			c.note(recv, name, n)
			c.note(loopPolicy(n, name, v), "Reset", n) // by the loop
			for _, arg := range n.Args {
				if v == 0 {
					c.note(arg, handed, n)
				}
			}
		}
	}
}

func (c *checker) note(e ast.Expr, what string, value ast.Expr) {
	if f := (fact{c.object(e), what}); f.obj != nil {
		c.facts[f] = append(c.facts[f], value)
	}
}

// object returns the variable or field that e names.
func (c *checker) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return c.TypesInfo.ObjectOf(e)
	case *ast.SelectorExpr:
		return c.TypesInfo.ObjectOf(e.Sel)
	}
	return nil
}

// callee returns the name and the version of the library's function that is called, and the value
// whose method it is.
func (c *checker) callee(call *ast.CallExpr) (name string, v int, recv ast.Expr) {
	fn := typeutil.Callee(c.TypesInfo, call)
	if fn == nil || version(fn.Pkg()) == 0 {
		return "", 0, nil
	}
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok && c.TypesInfo.Selections[sel] != nil {
		recv = sel.X
	}
	return fn.Name(), version(fn.Pkg()), recv
}

var library = regexp.MustCompile(`(example.com/backoff|github.com/cenkalti/backoff(/v[2-7])?)\.`)

// typeName returns the name of t, or of what it points to. The library is backoff in any version.
func typeName(t types.Type) string {
	return strings.TrimPrefix(library.ReplaceAllString(types.TypeString(t, nil), "backoff."), "*")
}

// A policy is what a package shows of one.
type policy struct {
	*checker
	origin   ast.Expr     // the call or literal that makes it
	way      []*types.Var // the variables and fields it comes through
	stateful bool         // it holds the state of a loop
	limited  bool         // by WithMaxRetries
	context  bool         // by WithContext, or WithRetryIf, which may look at the context
	unknown  bool         // it may be another, which the package does not show
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
		if !strings.HasPrefix(name, "With") {
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
			p.from(v)
		}
	}
}

func (p *policy) made(e ast.Expr) {
	name := typeName(p.TypesInfo.TypeOf(e))
	p.stateful = p.stateful || name == "backoff.ExponentialBackOff" || name == "backoff.LinearBackOff"
	made := strings.HasPrefix(name, "backoff.") && strings.HasSuffix(name, "BackOff")
	p.unknown = p.unknown || p.origin != nil || !made || name == "backoff.BackOff"
	p.origin = e
}

func (p *policy) from(v *types.Var) {
	p.way = append(p.way, v)
	values := p.facts[fact{v, assigned}]
	p.unknown = p.unknown || v.Kind() == types.ParamVar
	for _, value := range values {
		_, literal := value.(*ast.CompositeLit)
		_, copied := v.Type().Underlying().(*types.Struct)
		if copied && !literal {
			value = nil
		}
		p.trace(value)
	}
}

// setting returns what is assigned to a field of the policy's ExponentialBackOff, and whether that is
// all for certain.
func (p *policy) setting(field string) (values []ast.Expr, certain bool) {
	certain = !p.unknown
	for _, v := range p.way {
		values = append(values, p.facts[fact{v, field}]...)
		certain = certain && p.facts[fact{v, handed}] == nil
	}
	switch e := p.origin.(type) {
	case *ast.CallExpr:
		certain = certain && len(e.Args) == 0
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			if kv, ok := element.(*ast.KeyValueExpr); ok && types.ExprString(kv.Key) == field {
				values = append(values, kv.Value)
			}
		}
	}
	return values, certain
}

// ends reports whether the policy has a MaxElapsedTime for certain.
func (p *policy) ends() bool {
	stop, certain := p.setting("Stop")
	for _, e := range stop {
		certain = certain && fmt.Sprint(p.TypesInfo.Types[e].Value) == "-1"
	}
	limits, _ := p.setting("MaxElapsedTime")
	for _, e := range limits {
		certain = certain && !slices.Contains([]string{"0", "<nil>"}, fmt.Sprint(p.TypesInfo.Types[e].Value))
	}
	_, literal := p.origin.(*ast.CompositeLit)
	return certain && (len(limits) > 0 || !literal)
}
