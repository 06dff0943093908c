package crowd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/worker"
)

// Processes are crowds in processes of their own. Whoever has them ends them.
type Processes []*worker.Process

// limit is how long callers may take beyond their window.
const limit = time.Minute

// Start starts a process for each job, by the command line of one that does Work, and waits until all are ready. A job
// is a [Job], or what the command makes one of.
func Start[J any](ctx context.Context, command []string, window time.Duration, jobs []J) (all Processes, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, all.End())
			all = nil
		}
	}()
	for _, j := range jobs {
		p, err := worker.Start(ctx, command, j, window+limit)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	for _, p := range all {
		if said, err := p.Hear(); err != nil || said != ready {
			return all, errors.Join(err, fmt.Errorf("a process is not ready, it says %q", said))
		}
	}
	return all, nil
}

// Go lets all of them buy, at once.
func (all Processes) Go() error {
	for _, p := range all {
		if err := p.Say(goAhead); err != nil {
			return err
		}
	}
	return nil
}

// Sales waits for what each has bought, in the order of the jobs.
func (all Processes) Sales() (sales []Sale, err error) {
	for _, p := range all {
		said, err := p.Hear()
		if err != nil {
			return nil, err
		}
		s := Sale{Waits: latency.New()}
		if err := json.Unmarshal([]byte(said), &s); err != nil {
			return nil, fmt.Errorf("understand a process: %w", err)
		}
		sales = append(sales, s)
	}
	return sales, nil
}

// End waits for the end of all.
func (all Processes) End() error {
	var errs []error
	for _, p := range all {
		errs = append(errs, p.End())
	}
	return errors.Join(errs...)
}

// Compete runs each job in a process of its own, all at once, and returns what they sold, in that order.
func Compete[J any](ctx context.Context, command []string, window time.Duration, jobs []J) (sales []Sale, err error) {
	all, err := Start(ctx, command, window, jobs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.End()) }()
	if err := all.Go(); err != nil {
		return nil, err
	}
	return all.Sales()
}
