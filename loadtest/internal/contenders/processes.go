package contenders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/worker"
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
		sku := newName("hot-")
		if err := m.create(m.segments())(ctx, sku); err != nil {
			return round{}, fmt.Errorf("put a SKU up for sale: %w", err)
		}
		jobs := make([]job, n)
		for i := range jobs {
			jobs[i] = job{
				Kind: workCallers, DatabaseURL: m.databaseURL, RedisURL: m.world.servers.RedisURL,
				SKU: sku, Callers: (callers + i) / n, Window: m.world.scale.Window,
			}
		}
		sales, err := m.world.compete(ctx, jobs)
		if err != nil {
			return round{}, err
		}
		return together(sku, sales), nil
	}}
}

// competeLimit is how long callers may take beyond their window.
const competeLimit = time.Minute

// compete runs each job in a process of its own, all at once, and returns what they sold, in that order.
func (w *world) compete(ctx context.Context, jobs []job) (sales []sale, err error) {
	var processes []*worker.Process
	defer func() {
		for _, p := range processes {
			err = errors.Join(err, p.End())
		}
	}()
	for _, j := range jobs {
		p, err := worker.Start(ctx, w.worker, j, j.Window+competeLimit)
		if err != nil {
			return nil, err
		}
		processes = append(processes, p)
	}
	for _, p := range processes {
		if said, err := p.Hear(); err != nil || said != ready {
			return nil, errors.Join(err, fmt.Errorf("a process is not ready, it says %q", said))
		}
	}
	for _, p := range processes {
		if err := p.Say(goAhead); err != nil {
			return nil, err
		}
	}
	for _, p := range processes {
		said, err := p.Hear()
		if err != nil {
			return nil, err
		}
		s := sale{Waits: latency.New()}
		if err := json.Unmarshal([]byte(said), &s); err != nil {
			return nil, fmt.Errorf("understand a process: %w", err)
		}
		sales = append(sales, s)
	}
	return sales, nil
}

// together is what some processes sold of one SKU, and the share of the one that sold least.
func together(sku string, sales []sale) round {
	all := sale{Waits: latency.New()}
	var least int64
	for i, s := range sales {
		all.Counts = all.Counts.add(s.Counts)
		all.Took = max(all.Took, s.Took)
		all.Waits.Add(s.Waits)
		if i == 0 || s.Counts.Accepted < least {
			least = s.Counts.Accepted
		}
	}
	r := all.round(sku)
	if len(sales) > 1 {
		r.share = compare.Ratio(float64(least), float64(all.Counts.Accepted))
	}
	return r
}

func severalProcessesTargets(c Case, s Scale) []compare.Target {
	three := c.entry(threeProcessesName, s.many())
	return []compare.Target{
		compare.AtLeast("three processes, in parts of one", three.Ratio, 0.90),
		compare.AtLeast("three processes, share of the one that sold least", three.LeastShare, 0.2),
	}
}
