package breaks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

// job is what a process of its own holds. It goes to its standard input: addresses may hold passwords.
type job struct {
	Servers servers.URLs  `json:"servers"`
	Lock    string        `json:"lock"` // the contender's name
	Name    string        `json:"name"` // of its lock, and of the row that it guards
	Lease   time.Duration `json:"lease"`
	Trap    bool          `json:"trap"` // stop for ever after the first command of the lock
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
	access    *access
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

// open connects, so that only the steps themselves are done later.
func (h *holder) open(ctx context.Context, out io.Writer) error {
	contenders := all(h.job.Servers)
	i := slices.IndexFunc(contenders, func(c contender) bool { return c.name == h.job.Lock })
	if i < 0 {
		return fmt.Errorf("there is no lock %q", h.job.Lock)
	}
	s := setting{URLs: h.job.Servers, lease: h.job.Lease, session: h.job.Lease}
	if h.job.Trap {
		h.trap = &trap{sprung: func() {
			_ = json.NewEncoder(out).Encode(answer{Trapped: true}) // who does not hear it gives up by itself
			select {}
		}}
		s.trap = h.trap
	}
	db, err := openPostgres(ctx, s, 1)
	if err != nil {
		return err
	}
	h.stock = stock{db}
	if h.access, err = contenders[i].open(ctx, s); err != nil {
		db.Close()
		return err
	}
	return h.warmUp(ctx)
}

// warmUp lets the server know the scripts.
func (h *holder) warmUp(ctx context.Context) error {
	g, err := h.access.lock(ctx, h.job.Name+"-warm")
	if err == nil {
		err = g.unlock(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("try the lock out: %w", err), h.close())
	}
	return nil
}

func (h *holder) close() error {
	h.stock.db.Close()
	return h.access.close()
}

// do does a step.
func (h *holder) do(ctx context.Context, o order) (a answer) {
	var err error
	switch o {
	case toLock:
		if h.trap != nil {
			h.trap.armed.Store(true)
		}
		h.grip, err = h.access.lock(ctx, h.job.Name)
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

// hearing bounds how long a lock may take to tell that it is lost, when the process runs again.
const hearing = 5 * time.Second

// told is what the lock tells of its loss; "" where it is not lost, or tells nobody.
func (g *grip) told() string {
	if g.lost == nil {
		return ""
	}
	select {
	case <-g.lost.Done():
		return context.Cause(g.lost).Error()
	case <-time.After(hearing):
		return ""
	}
}
