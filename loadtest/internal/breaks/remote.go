package breaks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/worker"
)

// remote is a holder in a process of its own, as the lab sees it.
type remote struct{ process *worker.Process }

// start starts a holder that has not locked yet.
func (t *trial) start(ctx context.Context, trapped bool) (*remote, error) {
	p, err := worker.Start(ctx, t.worker, job{
		Servers: t.servers, Lock: t.contender.name, Name: t.name, Lease: lease, Trap: trapped,
	}, time.Minute)
	if err != nil {
		return nil, err
	}
	return &remote{p}, nil
}

// do has the holder do a step, and returns what came of it.
func (r *remote) do(o order) (a answer, err error) {
	if err := r.process.Say(string(o)); err != nil {
		return answer{}, err
	}
	said, err := r.process.Hear()
	if err != nil {
		return answer{}, fmt.Errorf("have a holder %s: %w", o, err)
	}
	if err := json.Unmarshal([]byte(said), &a); err != nil {
		return answer{}, fmt.Errorf("understand a holder: %w", err)
	}
	return a, nil
}

// must has the holder do steps that succeed.
func (r *remote) must(steps ...order) error {
	for _, step := range steps {
		a, err := r.do(step)
		if err == nil && a.Error != "" {
			err = errors.New(a.Error)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

// kill ends it with SIGKILL, whatever it does.
func (r *remote) kill() error { return r.process.Kill() }
