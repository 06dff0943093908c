package contenders

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

const (
	threeProcesses     = 3
	oneProcessName     = "inventory, 1 process"
	threeProcessesName = "inventory, 3 processes"
)

// severalProcesses compares one process with three that sell the same SKU, to as many callers in all.
func severalProcesses(ctx context.Context, w *world) ([]*entrant, error) {
	m, err := openMarket(ctx, w)
	if err != nil {
		return nil, err
	}
	return []*entrant{m.processes(oneProcessName, 1), m.processes(threeProcessesName, threeProcesses)}, nil
}

// processes share the callers of a round, each with callers inside.
func (m *market) processes(name string, n int) *entrant {
	callers := m.world.scale.many()
	return &entrant{name: name, ours: true, callers: callers, measure: func(ctx context.Context) (round, error) {
		sku := servers.NewName("hot-")
		if err := m.create(m.segments())(ctx, sku); err != nil {
			return round{}, fmt.Errorf("put a SKU up for sale: %w", err)
		}
		jobs := make([]job, n)
		for i := range jobs {
			jobs[i] = job{Kind: workCallers, Job: crowd.Job{
				DatabaseURL: m.databaseURL, RedisURL: m.world.servers.RedisURL,
				SKU: sku, Callers: (callers + i) / n, Window: m.world.scale.Window,
			}}
		}
		sales, err := crowd.Compete(ctx, m.world.worker, m.world.scale.Window, jobs)
		if err != nil {
			return round{sku: sku, unheard: stock.MaxStock}, err // a process that told nothing may have sold anything
		}
		return together(sku, sales), nil
	}}
}

// together is what some processes sold of one SKU, and the share of the one that sold least.
func together(sku string, sales []crowd.Sale) round {
	r := roundOf(crowd.Together(sales), sku)
	if len(sales) > 1 {
		least := slices.MinFunc(sales, func(a, b crowd.Sale) int { return cmp.Compare(a.Counts.Accepted, b.Counts.Accepted) })
		r.share = compare.Ratio(float64(least.Counts.Accepted), float64(r.counts.Accepted))
	}
	return r
}

func severalProcessesTargets(s Scale) []experiment.Target {
	three := at(threeProcessesName, s.many())
	return []experiment.Target{
		atLeast("three processes, in parts of one", counted, three, at(oneProcessName, s.many()), 0.90),
		{Name: "three processes, share of the one that sold least", Of: experiment.Level(leastShare, three), Sign: report.MoreThan, Bound: 0.2},
	}
}
