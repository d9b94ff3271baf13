package vet

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// What one of constructors returns has what it is given.
var constructors = regexp.MustCompile(`^[^(]*\.New\w*$`)

// makes applies the rules slots and budget to the call at cur, if it makes what calls must share.
func (c *checker) makes(cur inspector.Cursor, call *ast.CallExpr) {
	switch name := c.name(call.Fun); {
	case name == "new" && len(call.Args) == 1 && c.TypesInfo.Types[call.Args[0]].IsType():
		c.forOneCall(cur, typeName(c.TypesInfo.TypeOf(call)), call)
	case name == "example.com/backoff.NewSlots":
		c.forOneCall(cur, "backoff.Slots", call)
	}
}

// declares applies the rules slots and budget to the name at cur, if it is that of a variable without a value.
func (c *checker) declares(cur inspector.Cursor, name *ast.Ident) {
	spec, ok := cur.Parent().Node().(*ast.ValueSpec)
	v := c.variable(name)
	if !ok || len(spec.Values) > 0 || cur.ParentEdgeKind() != edge.ValueSpec_Names || v == nil {
		return
	}
	if _, pointer := v.Type().(*types.Pointer); pointer {
		return
	}
	if read, once := c.read(cur, v); once {
		c.forOneCall(read, typeName(v.Type()), name)
	}
}

// forOneCall reports e, which is at cur, if it is of a kind that calls must share, and the function around cur makes one
// call with it.
func (c *checker) forOneCall(cur inspector.Cursor, kind string, e ast.Expr) {
	shareable := kind == "backoff.Slots" || kind == "backoff.Budget"
	if shareable && !starts(around(cur).Node()) && c.spent(cur) {
		name := strings.TrimPrefix(kind, "backoff.")
		c.Reportf(e.Pos(), "this %s is made for one call, and protects nothing: share one between all calls [%s]", name, strings.ToLower(name))
	}
}

// spent reports whether what is at cur goes into one call by a Retrier or a client, through literals, constructors and
// variables of the function around cur that are read once.
func (c *checker) spent(cur inspector.Cursor) bool {
	parent := cur.Parent()
	switch node := parent.Node().(type) {
	case *ast.ParenExpr, *ast.UnaryExpr, *ast.CompositeLit, *ast.KeyValueExpr:
		return c.spent(parent)
	case *ast.CallExpr:
		return c.sends(node) || constructors.MatchString(c.name(node.Fun)) && c.spent(parent)
	case *ast.SelectorExpr:
		call, ok := parent.Parent().Node().(*ast.CallExpr)
		return ok && c.sends(call)
	}

	read, once := c.read(cur, c.variable(holder(cur)))
	return once && read.Node().Pos() > cur.Node().Pos() && c.spent(read)
}

// sends reports whether call is one by a Retrier or a client.
func (c *checker) sends(call *ast.CallExpr) bool {
	r, _ := c.retrier(call)
	return r != nil || sendings.MatchString(c.name(call.Fun))
}

// variable returns the variable that e is, or whose field e is, or nil.
func (c *checker) variable(e ast.Expr) *types.Var {
	if field, ok := e.(*ast.SelectorExpr); ok {
		e = field.X
	}
	v, _ := c.object(e).(*types.Var)
	return v
}

// read returns the only use of v that reads it, if v is a variable of the function around cur, in no other loop than
// what is there.
func (c *checker) read(cur inspector.Cursor, v *types.Var) (read inspector.Cursor, once bool) {
	for _, use := range c.uses[v] {
		if around(use) != around(cur) || loopOf(use) != loopOf(cur) {
			return read, false
		}
		if c.sets(use) {
			continue
		}
		if once {
			return read, false
		}
		read = use
		once = true
	}
	return read, once && v.Kind() == types.LocalVar
}

// sets reports whether the variable at use is declared, set or closed there, or a field of it is set.
func (c *checker) sets(use inspector.Cursor) bool {
	switch use.ParentEdgeKind() {
	case edge.AssignStmt_Lhs, edge.ValueSpec_Names:
		return true
	case edge.SelectorExpr_X:
		name := use.Parent().Node().(*ast.SelectorExpr).Sel.Name
		return assigned(use.Parent()) != nil || name == "Close" || name == "CloseIdleConnections"
	}
	return false
}
