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
	Servers servers.URLs  `json:"servers"`
	Lock    string        `json:"lock"` // the kind's name
	Name    string        `json:"name"` // of its lock, and of the row that it guards
	Lease   time.Duration `json:"lease"`
	Session time.Duration `json:"session"`
}

// order is a step that the process shall do.
type order string

const (
	toLock   order = "lock"
	toRead   order = "read"   // the row
	toWrite  order = "write"  // the row, whether the lock is still held or not
	toListen order = "listen" // for the lock's report of its loss
	toUnlock order = "unlock"
	toCut    order = "cut"  // all connections; new ones work
	toPull   order = "pull" // all connections; new ones do not work
	toPlug   order = "plug" // new ones work again
)

// answer is the result of a step.
type answer struct {
	Error string `json:"error,omitempty"`
	Done  bool   `json:"done,omitempty"` // the write was accepted
	Told  string `json:"told,omitempty"` // how the lock reported its loss; "": it did not
}

// holder is the process that has a lock.
type holder struct {
	name      string
	party     *party
	stock     stock
	cable     cable
	grip      *grip
	available int // as it was read
}

// Hold does one job, step by step, in a process that the lab has started. It ends when its input does.
func Hold(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	j, lines, err := worker.Read[job](in)
	if err != nil {
		return err
	}
	h := &holder{name: j.Name}
	db, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: j.Servers, Connections: 1})
	if err != nil {
		return err
	}
	defer db.Close()
	h.stock = stock{db}
	if err := h.open(ctx, j); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.party.close()) }()
	for lines.Scan() {
		if err := json.NewEncoder(out).Encode(h.do(ctx, order(lines.Text()))); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return nil
}

// open connects, and sends the scripts, so that later each step does only what it says.
func (h *holder) open(ctx context.Context, j job) error {
	these := kinds.These(j.Servers, j.Lock)
	if len(these) == 0 {
		return fmt.Errorf("there is no lock %q", j.Lock)
	}
	s := kinds.Setting{
		URLs: j.Servers, Timing: kinds.Timing{Lease: j.Lease}, Session: j.Session, Dial: h.cable.dial,
	}
	var err error
	if h.party, err = join(ctx, these[0], j.Name, s); err != nil {
		return err
	}
	hold, err := h.party.client.Lock(j.Name + "-warm").Lock(ctx)
	if err == nil {
		err = hold.Unlock(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("try the lock out: %w", err), h.party.close())
	}
	return nil
}

// do does a step.
func (h *holder) do(ctx context.Context, o order) (a answer) {
	var err error
	switch o {
	case toLock:
		h.grip, err = h.party.lock(ctx)
	case toRead:
		h.available, err = h.stock.read(ctx, h.name)
	case toWrite:
		a.Done, err = h.stock.write(ctx, h.name, h.available-ofFirst, h.grip)
	case toListen:
		a.Told = h.grip.told()
	case toUnlock:
		err = h.grip.unlock(ctx)
	case toCut, toPull, toPlug:
		h.cable.set(o == toPull)
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

// do has the holder do a step.
func (r remote) do(o order) (a answer, err error) {
	if err := r.WriteLine(string(o)); err != nil {
		return answer{}, err
	}
	said, err := r.ReadLine()
	if err != nil {
		return answer{}, fmt.Errorf("have a holder %s: %w", o, err)
	}
	if err := json.Unmarshal([]byte(said), &a); err != nil {
		return answer{}, fmt.Errorf("understand a holder: %w", err)
	}
	return a, nil
}

// must has the holder do steps that have to succeed, and returns the last answer.
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
