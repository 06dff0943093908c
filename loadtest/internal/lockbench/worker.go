package lockbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

// job is what a process of its own shall do. It goes to its standard input: addresses may hold passwords.
type job struct {
	Servers servers.URLs  `json:"servers"`
	Kind    string        `json:"kind"`
	Lock    string        `json:"lock"`
	Callers int           `json:"callers"`
	Window  time.Duration `json:"window"`
	Think   time.Duration `json:"think"`
}

// account is what it has done.
type account struct {
	Counts     []int64            `json:"counts"`
	All        int64              `json:"all"`
	Commands   int64              `json:"commands"`
	Waits      *latency.Histogram `json:"waits"`
	Violations int64              `json:"violations"`
	Note       string             `json:"note"`
}

// Work does one job: that of a process which the lab has started to compete with others. It ends when nobody listens
// any more.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	j, lines, err := worker.Read[job](in)
	if err != nil {
		return err
	}
	k, err := processKind(j.Kind)
	if err != nil {
		return err
	}
	f, err := openFleet(ctx, k, j.Servers, 1, j.Callers)
	if err != nil {
		return err
	}
	warmUp(ctx, f, j.Lock+"-warm", j.Callers)
	if err := worker.WaitForGo(lines, out); err != nil {
		return errors.Join(err, f.close())
	}
	r, err := j.do(ctx, f)
	if err == nil {
		err = json.NewEncoder(out).Encode(r)
	}
	return errors.Join(err, f.close())
}

// do measures, and then looks whether the lock excludes processes from each other.
func (j job) do(ctx context.Context, f *fleet) (account, error) {
	before := f.commands()
	t := drive(ctx, load{window: j.Window, think: j.Think}, f.handles(j.Lock, j.Callers))
	r := account{t.counts, t.all, f.commands() - before, t.waits, t.violations, ""}
	if t.err != nil {
		r.Note = t.err.Error()
		return r, nil // it would hang again
	}
	broken, err := checkExclusion(ctx, j, f)
	r.Violations += broken
	return r, err
}

// processKind is a contender of several processes. A process is told the name.
func processKind(name string) (kind, error) {
	all := crowdKinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, fmt.Errorf("there is no lock %q", name)
	}
	return all[i], nil
}
