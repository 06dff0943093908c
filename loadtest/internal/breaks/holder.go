package breaks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

// job is what a process of its own holds. It goes to its standard input: addresses may hold passwords.
type job struct {
	Servers servers.URLs `json:"servers"`
	Lock    string       `json:"lock"` // the kind's name
	Name    string       `json:"name"` // of its lock, and of the row that it guards
	Trap    bool         `json:"trap"` // stop for ever after the first command of the lock
}

// order is a step that the process shall do.
type order string

const (
	toLock   order = "lock"
	toRead   order = "read"   // the row
	toWrite  order = "write"  // the row, without looking whether the lock is still held
	toListen order = "listen" // to what the lock tells of its loss
	toUnlock order = "unlock"
)

// answer is what came of a step. A holder in a trap answers to its lock that it is trapped, and is never heard again.
type answer struct {
	Error    string `json:"error,omitempty"`
	Accepted bool   `json:"accepted,omitempty"` // the write
	Told     string `json:"told,omitempty"`     // by the lock, that it is lost; "" if it tells nobody
	Trapped  bool   `json:"trapped,omitempty"`
}

// holder is the process that has a lock.
type holder struct {
	job       job
	party     *party
	stock     stock
	trap      *trap
	grip      *grip
	available int // as it has read
}

// Hold does one job, that of a process which the lab has started to hold a lock, step by step, until nobody listens any
// more.
func Hold(ctx context.Context, in io.Reader, out io.Writer) error {
	j, lines, err := worker.Read[job](in)
	if err != nil {
		return err
	}
	h := &holder{job: j}
	if err := h.open(ctx, out); err != nil {
		return err
	}
	for lines.Scan() {
		if err := json.NewEncoder(out).Encode(h.do(ctx, order(lines.Text()))); err != nil {
			return errors.Join(fmt.Errorf("answer: %w", err), h.close())
		}
	}
	return h.close()
}

// open connects, and lets the server know the scripts, so that only the steps themselves are done later.
func (h *holder) open(ctx context.Context, out io.Writer) error {
	these := kinds.These(h.job.Servers, h.job.Lock)
	if len(these) == 0 {
		return fmt.Errorf("there is no lock %q", h.job.Lock)
	}
	s := kinds.Setting{URLs: h.job.Servers, Timing: kinds.Timing{Lease: lease}, Session: lease}
	if h.job.Trap {
		h.trap = &trap{sprung: func() {
			_ = json.NewEncoder(out).Encode(answer{Trapped: true}) // who does not hear it gives up by itself
			select {}
		}}
		s.Hook = h.trap
	}
	db, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: h.job.Servers, Connections: 1})
	if err != nil {
		return err
	}
	h.stock = stock{db}
	if h.party, err = join(ctx, these[0], h.job.Name, s); err != nil {
		db.Close()
		return err
	}
	hold, err := h.party.client.Lock(h.job.Name + "-warm").Lock(ctx)
	if err == nil {
		err = hold.Unlock(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("try the lock out: %w", err), h.close())
	}
	return nil
}

func (h *holder) close() error {
	h.stock.db.Close()
	return h.party.client.Close()
}

// do does a step.
func (h *holder) do(ctx context.Context, o order) (a answer) {
	var err error
	switch o {
	case toLock:
		if h.trap != nil {
			h.trap.armed.Store(true)
		}
		h.grip, err = h.party.lock(ctx)
	case toRead:
		h.available, err = h.stock.read(ctx, h.job.Name)
	case toWrite:
		a.Accepted, err = h.stock.write(ctx, h.job.Name, h.available-ofFirst, h.grip)
	case toListen:
		a.Told = h.grip.told()
	case toUnlock:
		err = h.grip.unlock(ctx)
	default:
		err = fmt.Errorf("there is no step %q", o)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// remote is a holder in a process of its own, as the lab sees it.
type remote struct{ *worker.Process }

// start starts a holder that has not locked yet.
func (t *trial) start(ctx context.Context, trapped bool) (remote, error) {
	p, err := worker.Start(ctx, t.worker, job{Servers: t.servers, Lock: t.kind.Name, Name: t.name, Trap: trapped}, time.Minute)
	return remote{p}, err
}

// do has the holder do a step, and returns what came of it.
func (r remote) do(o order) (a answer, err error) {
	if err := r.Say(string(o)); err != nil {
		return answer{}, err
	}
	said, err := r.Hear()
	if err != nil {
		return answer{}, fmt.Errorf("have a holder %s: %w", o, err)
	}
	if err := json.Unmarshal([]byte(said), &a); err != nil {
		return answer{}, fmt.Errorf("understand a holder: %w", err)
	}
	return a, nil
}

// must has the holder do steps that succeed, and returns what came of the last.
func (r remote) must(steps ...order) (a answer, err error) {
	for _, step := range steps {
		a, err = r.do(step)
		if err == nil && a.Error != "" {
			err = errors.New(a.Error)
		}
		if err != nil {
			return a, fmt.Errorf("%s: %w", step, err)
		}
	}
	return a, nil
}
