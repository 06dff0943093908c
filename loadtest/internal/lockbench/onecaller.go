package lockbench

import (
	"context"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
)

// oneCaller measures what a lock costs whom nobody disturbs. Contenders take turns in short slices.
func oneCaller(ctx context.Context, b *bench) ([]Contender, error) {
	kinds := append([]kind{
		inventoryMutex(), bsm(50 * time.Millisecond), redsyncKind(), advisory(),
		inventoryFair(), inventoryWriter(), inventoryReader(), inventoryMultiLock(), bsmMulti(), inventoryRedLock(),
	}, textbooks()...)
	fleets, closeAll, err := openFleets(ctx, b.there(kinds), b.servers, 1, 1)
	if err != nil {
		return nil, err
	}
	s := newSeries()
	for _, f := range fleets {
		s.announce(f.name, f.ours)
		warmUp(ctx, f, b.run+"one", 1)
	}
	for round := range b.scale.Rounds {
		l := load{window: b.scale.Window / time.Duration(b.scale.Slices)}
		sums := make(map[string]*tally)
		commands := make(map[string]int64)
		for slice := range b.scale.Slices {
			for _, f := range compare.InTurn(fleets, round+slice) {
				before := f.commands()
				t := drive(ctx, l, f.handles(b.run+"one", 1))
				sums[f.name] = join(sums[f.name], t)
				commands[f.name] += f.commands() - before
			}
		}
		if ctx.Err() != nil {
			break // a round that was cut short tells nothing
		}
		for name, t := range sums {
			s.add(name, t.figures(commands[name]), t.note)
		}
	}
	return s.contenders(), closeAll()
}

// join adds the tally of a slice to that of a round.
func join(sum, t *tally) *tally {
	if sum == nil {
		sum = &tally{counts: make([]int64, len(t.counts)), waits: latency.New()}
	}
	for i, n := range t.counts {
		sum.counts[i] += n
	}
	sum.all += t.all
	sum.waits.Add(t.waits)
	sum.elapsed += t.elapsed
	sum.violations += t.violations
	if t.note != "" {
		sum.note = t.note
	}
	return sum
}

func oneCallerTargets(c Case) []report.Target {
	mutex := c.find(mutexName)[PerSecond]
	return []report.Target{
		report.AtLeast("cycles, in parts of the fastest library's", compare.Ratio(mutex, c.bestLibrary(PerSecond)[PerSecond]), 0.85),
		report.AtLeast("cycles, in parts of the fastest peer's", compare.Ratio(mutex, c.bestPeer(PerSecond)[PerSecond]), 0.85),
		report.AtMost("commands a cycle", c.find(mutexName)[Commands], 2),
	}
}
