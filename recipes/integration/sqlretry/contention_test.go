package sqlretry_test

import (
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/backoff"
	"example.com/backoff/recipes/sqlretry"
)

// scale is how much faster than in the simulation of examples/herd everything goes here.
const scale = 5

// strategies are those of the simulation, in the order of its CSV.
var strategies = []func() backoff.BackOff{
	func() backoff.BackOff { return &backoff.ZeroBackOff{} },
	doubling(backoff.NoJitter, 10*time.Millisecond),
	doubling(backoff.ProportionalJitter, 10*time.Millisecond),
	doubling(backoff.AdditiveJitter, 10*time.Millisecond),
	doubling(backoff.EqualJitter, 10*time.Millisecond),
	doubling(backoff.FullJitter, 10*time.Millisecond),
	doubling(backoff.DecorrelatedJitter, 5*time.Millisecond),
}

func doubling(jitter backoff.Jitter, initial time.Duration) func() backoff.BackOff {
	return func() backoff.BackOff {
		return backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(initial/scale),
			backoff.WithMultiplier(2),
			backoff.WithMaxInterval(2*time.Second/scale),
			backoff.WithMaxElapsedTime(0),
			backoff.WithJitter(jitter))
	}
}

// A contention is what one group of writers comes to: how many writes they tried, and how long it
// took, in the simulation's time.
type contention struct {
	strategy string
	attempts float64
	time     time.Duration
}

// TestContention repeats the simulation's contention with real writers: each reads a row and
// writes it in one transaction of a SQLite database in WAL mode, where a write fails if another
// writer was faster. Only the network is still simulated: each message to and from the database
// sleeps |Normal(10, 2)| ms, scaled. It shows with -v how near the simulation comes.
func TestContention(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	simulated := simulation(t)
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "writers\tstrategy\tattempts\tsimulated\ttime\tsimulated\t")
	for _, writers := range []int{10, 20, 50} {
		measured := make([]contention, len(strategies))
		var group sync.WaitGroup
		for i, policy := range strategies {
			db := open(t, newFile(t, "wal"))
			group.Go(func() { measured[i] = contend(t, db, writers, policy) })
		}
		group.Wait()
		require.Len(t, simulated[writers], len(strategies))
		for i, sim := range simulated[writers] {
			fmt.Fprintf(table, "%d\t%s\t%.0f\t%.0f\t%.2f s\t%.2f s\t\n",
				writers, sim.strategy, measured[i].attempts, sim.attempts, measured[i].time.Seconds(), sim.time.Seconds())
		}
	}
	require.NoError(t, table.Flush())
	t.Logf("SQLite, one run at %d times the speed, beside the simulation's means:\n%s", scale, &out)
}

// simulation reads what this prints, by the number of clients:
//
//	go run ./examples/herd -scenario contention -clients 10,20,50 -csv
func simulation(t *testing.T) map[int][]contention {
	file, err := os.Open("testdata/simulation.csv")
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	means := map[int][]contention{}
	for _, row := range rows[1:] { // clients,time,calls,algorithm
		clients, err1 := strconv.Atoi(row[0])
		ms, err2 := strconv.ParseFloat(row[1], 64)
		calls, err3 := strconv.ParseFloat(row[2], 64)
		require.NoError(t, errors.Join(err1, err2, err3))
		means[clients] = append(means[clients], contention{row[3], calls, time.Duration(ms * float64(time.Millisecond))})
	}
	return means
}

// contend lets writers start together and update the counter once each.
func contend(t *testing.T, db *sql.DB, writers int, policy func() backoff.BackOff) contention {
	db.SetMaxIdleConns(writers)
	conns := make([]*sql.Conn, writers)
	errs := make([]error, writers)
	for i := range conns { // have them open before the start
		conns[i], errs[i] = db.Conn(t.Context())
	}
	for _, conn := range conns {
		if conn != nil {
			conn.Close()
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
		return contention{}
	}

	var attempts atomic.Int64
	start := time.Now()
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 0))
			message := func() {
				ms := random.NormFloat64()*2 + 10
				time.Sleep(time.Duration(ms * float64(time.Millisecond) / scale).Abs())
			}
			errs[i] = sqlretry.Do(t.Context(), db, sqlretry.Options{Policy: policy}, func(tx *sql.Tx) error {
				message()
				var n int
				if err := tx.QueryRow("SELECT n FROM counter").Scan(&n); err != nil {
					return err
				}
				message()
				message()
				attempts.Add(1)
				_, err := tx.Exec("UPDATE counter SET n = ?", n+1)
				if err != nil {
					message()
				}
				return err
			})
			message()
		})
	}
	group.Wait()
	took := time.Since(start)
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	var n int
	if err := db.QueryRow("SELECT n FROM counter").Scan(&n); err != nil || n != writers {
		t.Errorf("%d writers have counted to %d (error: %v)", writers, n, err)
	}
	return contention{"", float64(attempts.Load()), took * scale}
}
