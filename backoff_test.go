package backoff_test

import (
	"context"
	"fmt"
	"go/ast"
	"maps"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
)

func TestSimplePolicies(t *testing.T) {
	for name, test := range map[string]struct {
		policy backoff.BackOff
		want   time.Duration
	}{
		"zero":              {&backoff.ZeroBackOff{}, 0},
		"stop":              {&backoff.StopBackOff{}, backoff.Stop},
		"constant":          {backoff.NewConstantBackOff(time.Second), time.Second},
		"constant zero":     {&backoff.ConstantBackOff{}, 0},
		"constant negative": {backoff.NewConstantBackOff(-time.Second), -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				test.policy.Reset()
				require.Equal(t, test.want, test.policy.NextBackOff())
				require.Equal(t, test.want, test.policy.NextBackOff())
			}
		})
	}
}

func TestLinearBackOff(t *testing.T) {
	const s, most = time.Second, time.Duration(math.MaxInt64)
	for name, test := range map[string]struct {
		policy *backoff.LinearBackOff
		want   []time.Duration
	}{
		"uncapped":         {backoff.NewLinearBackOff(s), []time.Duration{s, 2 * s, 3 * s, 4 * s}},
		"capped":           {&backoff.LinearBackOff{Interval: 2 * s, MaxInterval: 5 * s}, []time.Duration{2 * s, 4 * s, 5 * s, 5 * s}},
		"capped at first":  {&backoff.LinearBackOff{Interval: 2 * s, MaxInterval: s}, []time.Duration{s, s}},
		"cap negative":     {&backoff.LinearBackOff{Interval: s, MaxInterval: -s}, []time.Duration{s, 2 * s}},
		"zero value":       {&backoff.LinearBackOff{}, []time.Duration{0, 0, 0}},
		"negative":         {backoff.NewLinearBackOff(-s), []time.Duration{backoff.Stop, backoff.Stop}},
		"a cap of 1 ns":    {&backoff.LinearBackOff{Interval: 1, MaxInterval: 1}, []time.Duration{1, 1}},
		"most negative":    {backoff.NewLinearBackOff(-most - 1), []time.Duration{backoff.Stop, backoff.Stop}},
		"saturating":       {backoff.NewLinearBackOff(most/2 + 1), []time.Duration{most/2 + 1, most, most}},
		"just below a cap": {&backoff.LinearBackOff{Interval: most / 2, MaxInterval: most - 1}, []time.Duration{most / 2, most - 1, most - 1}},
		"exactly at a cap": {&backoff.LinearBackOff{Interval: s, MaxInterval: 2 * s}, []time.Duration{s, 2 * s, 2 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				require.Equal(t, test.want, draws(test.policy, len(test.want)))
				test.policy.Reset()
			}
		})
	}
}

// Not only Stop ends a loop.
func TestNegativeWait(t *testing.T) {
	for _, wait := range []time.Duration{backoff.Stop, -2, -time.Hour, math.MinInt64} {
		eachLoop(t, func(t *testing.T, retry retry) {
			operation, calls := failing(-1)
			require.Same(t, errFailed, retry(operation, backoff.NewConstantBackOff(wait)))
			require.Equal(t, 1, *calls)
		})
	}
}

func TestNilPolicy(t *testing.T) {
	eachLoop(t, func(t *testing.T, retry retry) {
		operation, calls := failing(0)
		require.NoError(t, retry(operation, nil))
		require.Equal(t, 1, *calls)
	})
	timer := new(instantTimer)
	operation, _ := failing(2)
	require.NoError(t, backoff.RetryNotifyWithTimer(operation, nil, nil, timer))
	require.GreaterOrEqual(t, timer.started[0], backoff.DefaultInitialInterval/2)
	require.LessOrEqual(t, timer.started[0], backoff.DefaultInitialInterval*3/2)
}

func TestNilArguments(t *testing.T) {
	var none context.Context
	for text, call := range map[string]func(){
		"Attempts called with a nil err": func() {
			for range backoff.Attempts(nil, nil) {
				require.Fail(t, "no pass")
			}
		},
		"WithContext called with a nil context": func() { backoff.WithContext(nil, none) },
	} {
		require.PanicsWithValue(t, "backoff: "+text, call)
	}
}

// A low go line is part of being a drop-in: a consumer whose own is lower has to raise it first.
func TestGoVersion(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	require.Contains(t, string(mod), "\ngo 1.23\n")
}

// The tables of decorators and of jitters, which many tests go through, leave none out.
func TestTables(t *testing.T) {
	others := maps.Clone(decorators)
	source(t, func(decl ast.Decl) {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Params.NumFields() == 0 || f.Type.Results.NumFields() != 1 ||
			fmt.Sprint(f.Type.Params.List[0].Type) != "BackOff" ||
			!strings.HasPrefix(fmt.Sprint(f.Type.Results.List[0].Type), "BackOff") {
			return
		}
		name := f.Name.Name
		if others[name] == nil {
			t.Errorf("add %s to the table decorators in helpers_test.go", name)
		}
		delete(others, name)
	})
	for name := range others {
		t.Errorf("the table decorators in helpers_test.go has %s, and the package has not", name)
	}

	for i, constant := range jitterConstants(t) {
		name := constant.Names[0].Name
		switch {
		case backoff.Jitter(i).String() != name:
			t.Errorf("add %s to jitterNames in exponential.go", name)
		case i >= len(jitters) || jitters[i].String() != name:
			t.Errorf("add %s to the table jitters in helpers_test.go", name)
		}
	}
}
