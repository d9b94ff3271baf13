package vet

import (
	"go/ast"
	"go/types"
	"strings"
)

// interval reports an InitialInterval that v1 to v4 ignore: it is set after NewExponentialBackOff, then
// NextBackOff is called by hand, and nothing calls Reset.
func (c *checker) interval(p *policy, version int) {
	set := p.set["InitialInterval"]
	_, made := p.origin.(*ast.CallExpr)
	if len(set) == 0 || !made || p.unknown || p.handed || p.reset {
		return
	}

	old := version > 0 && version < 5
	if old && !c.reported[set[0]] {
		c.reported[set[0]] = true
		c.Reportf(set[0].Pos(), "InitialInterval has no effect before the next Reset, and there is none [interval]")
	}
}

// stop reports a literal of v4 that in a loop never stops for want of Stop.
func (c *checker) stop(e ast.Expr, p *policy) {
	lit, literal := p.origin.(*ast.CompositeLit)
	if !literal || p.set["Stop"] != nil || !p.ends() {
		return
	}

	made := types.Unalias(c.TypesInfo.TypeOf(lit)).String()
	if strings.Contains(made, "cenkalti/backoff/v4.") {
		c.Reportf(e.Pos(), "this loop does not end after MaxElapsedTime, but goes on without waits: set Stop to backoff.Stop [stop]")
	}
}
