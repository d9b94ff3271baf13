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

var (
	// A function with one of these names writes a Duration down, and does not wait for it.
	records = regexp.MustCompile(`(?i)^(dur|record|observe|timing|histogram)`)

	// A loop that calls one of asks looks whether its time is over.
	asks = regexp.MustCompile(`^(time\.(Since|Until)|\(time\.Time\)\.(After|Before|Compare)|context\.Cause|\(context\.Context\)\.Err)$`)

	// A function that calls one of limits before its loop sets the time of that.
	limits = regexp.MustCompile(`^(time\.After|context\.With(Timeout|Deadline)(Cause)?)$`)
)

// wait reports a NextBackOff of the policy p at cur, which is called again and again until something succeeds, if it can
// be Stop, is compared with nothing and is given to what waits for it.
func (c *checker) wait(cur inspector.Cursor, p *policy) {
	if !p.ends() {
		return
	}
	region := loopOf(cur)
	if region == nil {
		region = around(cur).Node()
	}
	kept := slices.ContainsFunc(p.path, func(v *types.Var) bool { return outlives(v, cur, region) })
	if _, limited := region.(*ast.RangeStmt); limited || !kept || c.leaves(cur, region) {
		return
	}
	if taker := c.taker(cur, 0); taker != "" && taker != looks {
		c.Reportf(cur.Node().Pos(), "NextBackOff can return Stop, -1, and %s takes that for a wait: compare it with Stop, or set MaxElapsedTime to 0 [wait]", taker)
	}
}

// looks stands for what may compare a wait with Stop.
const looks = "if"

// taker names what waits for the Duration at cur, or is given to. It returns looks if anything may compare the Duration
// with another, and nothing if nothing waits.
func (c *checker) taker(cur inspector.Cursor, depth int) string {
	kind, i := cur.ParentEdge()
	if v, ok := c.object(holder(cur)).(*types.Var); ok {
		return c.takerOf(v, depth+1)
	}

	switch parent := cur.Parent().Node().(type) {
	case *ast.ParenExpr:
		return c.taker(cur.Parent(), depth)
	case *ast.ExprStmt:
		return "" // it is thrown away
	case *ast.SelectorExpr:
		if parent.Sel.Name == "String" {
			return ""
		}
	case *ast.CallExpr:
		signature, ok := c.TypesInfo.TypeOf(parent.Fun).(*types.Signature)
		if ok && kind == edge.CallExpr_Args {
			return c.takes(parent, signature, i, depth)
		}
	}
	return looks
}

// takerOf names what waits for the Duration v, as taker does.
func (c *checker) takerOf(v *types.Var, depth int) string {
	if depth > 3 {
		return looks
	}
	named := ""
	for _, use := range c.uses[v] {
		switch use.ParentEdgeKind() {
		case edge.AssignStmt_Lhs, edge.KeyValueExpr_Key, edge.ValueSpec_Names, edge.Field_Names:
			continue
		}
		switch taker := c.taker(use, depth); taker {
		case "":
		case looks:
			return looks
		default:
			named = taker
		}
	}
	if named == "" && v.IsField() && v.Pkg() != c.Pkg {
		named = v.Name()
	}
	return named
}

// takes names the function that call calls, if its i-th parameter is a Duration to wait for.
func (c *checker) takes(call *ast.CallExpr, signature *types.Signature, i, depth int) string {
	params := signature.Params()
	if decl, ok := c.function(call.Fun).(*ast.FuncDecl); ok && !signature.Variadic() && i < params.Len() {
		v := c.TypesInfo.Defs[decl.Name].(*types.Func).Signature().Params().At(i)
		return c.takerOf(v, depth+1)
	}

	name := c.name(call.Fun)
	answers := strings.Contains(signature.Results().String(), "bool") && name != "(*time.Timer).Reset"
	if answers || name == "max" || name == "min" || c.object(call.Fun) == nil || c.function(call.Fun) != nil {
		return looks
	}
	name = name[strings.LastIndex(name, ".")+1:]
	duration := i < params.Len() && params.At(i).Type().String() == "time.Duration"
	if !duration || records.MatchString(name) {
		return ""
	}
	return name
}

// leaves reports whether a count, a time or a condition with an order may end what repeats cur: the loop region, or
// calls of the function region.
func (c *checker) leaves(cur inspector.Cursor, region ast.Node) bool {
	loop, looped := region.(*ast.ForStmt)
	leaves := false
	ast.Inspect(outermost(cur).Node(), func(n ast.Node) bool {
		inside := n != nil && within(n.Pos(), region)
		switch n := n.(type) {
		case *ast.ReturnStmt:
			return false // what it asks a context for is its error
		case *ast.IncDecStmt:
			leaves = leaves || inside
		case *ast.BinaryExpr:
			condition := inside && !looped || looped && loop.Cond != nil && within(n.Pos(), loop.Cond)
			leaves = leaves || condition && strings.ContainsAny(n.Op.String(), "<>")
		case *ast.SelectorExpr:
			leaves = leaves || inside && asks.MatchString(c.name(n))
			leaves = leaves || n.Pos() < region.Pos() && limits.MatchString(c.name(n))
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
