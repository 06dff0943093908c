package locksim_test

import (
	"cmp"
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/locking/locksim"
)

var (
	simSeed      = flag.Uint64("sim.seed", 0, "play the history of this seed only")
	simFirst     = flag.Uint64("sim.first", 0, "play the histories from this seed on")
	simHistories = flag.Int("sim.histories", 12, "play that many histories, and a sixth as many of RedLocks")
	simFor       = flag.Duration("sim.for", 0, "play histories for so long instead, and half as long of RedLocks")
)

// TestSimulation plays random histories on one server.
func TestSimulation(t *testing.T) { simulate(t, locksim.Random, *simHistories, *simFor) }

// TestSimulationOfRedLocks plays them on several servers.
func TestSimulationOfRedLocks(t *testing.T) {
	simulate(t, locksim.RandomRed, *simHistories/6, *simFor/2)
}

// simulate plays so many random histories of a kind, or for so long if that is not 0.
func simulate(t *testing.T, history history, many int, long time.Duration) {
	if *simSeed != 0 {
		play(t, history, *simSeed)
		return
	}
	if testing.Short() {
		many /= 10
	}
	ctx, cancel := t.Context(), func() {}
	if long > 0 {
		many = math.MaxInt
		ctx, cancel = context.WithTimeout(ctx, long)
	}
	defer cancel()
	first := cmp.Or(*simFirst, rand.Uint64N(1<<40))
	began := time.Now()
	n := 0
	for ; n < many && ctx.Err() == nil && !t.Failed(); n++ {
		play(t, history, first+uint64(n))
	}
	took := time.Since(began)
	t.Logf("%d histories from seed %d in %s: %.0f a minute", n, first, took.Round(time.Millisecond), float64(n)/took.Minutes())
}

// A history is played from a seed to its end.
type history func(t *testing.T, seed uint64) *locksim.World

// play plays the history of a seed. A goroutine that is left makes the bubble panic. It runs on one processor: two
// would decide the order of events instead of the seed.
func play(t *testing.T, history history, seed uint64) (trace string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("seed %d: %v\nreplay: go test ./internal/locking/locksim -run '^%s$' -sim.seed=%d\n%s", seed, p, t.Name(), seed, left())
		}
	}()
	busytest.Virtual(t, func(t *testing.T) {
		w := history(t, seed)
		trace = w.Trace()
	})
	return trace
}

// left returns the stacks of the goroutines that are left in a bubble.
func left() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var inside []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if head, _, _ := strings.Cut(stack, "\n"); strings.Contains(head, "synctest bubble") && !strings.Contains(head, "synctest.Run") {
			inside = append(inside, stack)
		}
	}
	return strings.Join(inside, "\n\n")
}
