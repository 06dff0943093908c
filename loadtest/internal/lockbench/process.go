package lockbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/worker"
)

// compete runs each job in a process of its own, all at once, and returns what they did, in that order.
func (b *bench) compete(ctx context.Context, jobs []job) (accounts []account, err error) {
	var processes []*worker.Process
	defer func() {
		for _, p := range processes {
			err = errors.Join(err, p.End())
		}
	}()
	for _, j := range jobs {
		p, err := worker.Start(ctx, b.worker, j, 3*slack+j.Window) // one that hangs is killed
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
			return nil, fmt.Errorf("start the clock: %w", err)
		}
	}
	for _, p := range processes {
		said, err := p.Hear()
		if err != nil {
			return nil, err
		}
		r := account{Waits: latency.New()}
		if err := json.Unmarshal([]byte(said), &r); err != nil {
			return nil, fmt.Errorf("understand a process: %w", err)
		}
		accounts = append(accounts, r)
	}
	return accounts, nil
}

// together returns the figures of some processes as one; fairness is that between processes.
func together(accounts []account, window time.Duration) (Figures, string) {
	t := &tally{waits: latency.New(), elapsed: window}
	var commands int64
	for _, r := range accounts {
		t.counts = append(t.counts, r.sum())
		t.all += r.All
		t.violations += r.Violations
		t.waits.Add(r.Waits)
		commands += r.Commands
		if r.Note != "" {
			t.note = r.Note
		}
	}
	return t.figures(commands), t.note
}

// sum is how many acquisitions fell into the window.
func (r account) sum() (all int64) {
	for _, n := range r.Counts {
		all += n
	}
	return all
}

// contest makes entrants that compete in processes: what jobs of a kind do, and what their accounts come to.
func (b *bench) contest(name string, kinds []kind, jobs []job, figures func(accounts []account) (Figures, string),
) (entrants []entrant) {
	for _, k := range kinds {
		entrants = append(entrants, entrant{k.name, k.ours, func(ctx context.Context, round int) (Figures, string) {
			mine := slices.Clone(jobs)
			for i := range mine {
				mine[i].Servers, mine[i].Kind = b.servers, k.name
				mine[i].Lock = fmt.Sprintf("%s%s-%d", b.run, name, round)
			}
			accounts, err := b.compete(ctx, mine)
			if err != nil {
				return Figures{}, err.Error()
			}
			return figures(accounts)
		}})
	}
	return entrants
}
