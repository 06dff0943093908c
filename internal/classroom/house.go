package classroom

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/stock"
)

const (
	drain       = 3 * time.Second // for requests in flight when a process ends
	patience    = 2 * time.Second // of buyers with one process, before they ask the next one
	connections = 256
)

// plan is the configuration of the processes.
type plan struct {
	Lock      string `json:"lock"`
	Processes int    `json:"processes"`
	Singly    bool   `json:"singly"` // each write carries out one order, and not those that wait at the time
}

const mostProcesses = 3

// String describes the processes as people do.
func (p plan) String() string {
	processes, lock, writes := fmt.Sprintf("%d processes", p.Processes), p.Lock+" lock", "in batches"
	if p.Processes == 1 {
		processes = "1 process"
	}
	if p.Lock == app.LockNone {
		lock = "no lock"
	}
	if p.Singly {
		writes = "order by order"
	}
	return fmt.Sprintf("%s, %s, %s", processes, lock, writes)
}

// why says what the change from another plan does.
func (p plan) why(before plan) string {
	switch {
	case p.Singly && !before.Singly:
		return "Each order now waits for a write and a commit of its own."
	case before.Singly && !p.Singly:
		return "Orders that wait at the same time are written together, in one statement with one commit: most of the speed comes from that."
	case p.Lock != before.Lock:
		return "A lock keeps processes off each other's rows. It makes nothing right that would be wrong without it: that does the guard of the database."
	case p.Singly:
		return "Processes write at the same time if there are segments enough. On one segment they take turns."
	default:
		return "Each process writes all orders that wait, so more processes make smaller batches, and not more orders a second."
	}
}

// process is one of the services that sell. All are in one process of the operating system, and share only the database
// and Redis.
type process struct {
	app     *app.App
	gate    *gate
	url     *url.URL
	service *client.Service // of the buyers
}

// house is the processes of a plan.
type house struct {
	plan
	processes []*process
}

// build starts the processes of a plan.
func build(ctx context.Context, p plan, databaseURL string, store stock.Store, n *network, log *slog.Logger) (h *house, err error) {
	h = &house{plan: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close(context.WithoutCancel(ctx)))
		}
	}()
	limit := 0 // the fastest
	if p.Singly {
		limit = 1
	}
	for number := range p.Processes {
		gate := new(gate)
		a, err := app.Start(ctx, app.Config{
			DatabaseURL: databaseURL, Store: gatedStore{store, gate}, RedisDial: n.dialer(number, gate), Lock: p.Lock, Name: strconv.Itoa(number + 1),
			DrainTimeout: drain, BatchLimit: limit, Logger: log,
		})
		if err != nil {
			return h, fmt.Errorf("start process %d: %w", number+1, err)
		}
		at, badURL := url.Parse(a.URL())
		service, err := client.NewService(a.URL(), connections, patience)
		h.processes = append(h.processes, &process{a, gate, at, service})
		if err = errors.Join(badURL, err); err != nil {
			return h, err
		}
	}
	return h, nil
}

// deduct sends an order to a process, again while it may have been lost, and to the others until one has a final answer. After the
// buyers' patience a process does not carry it out any more, however late it goes on.
func (h *house) deduct(ctx context.Context, n int, sku string, order client.NewDeduction) (answer client.Answer[client.Deduction], err error) {
	for try := range h.processes {
		patient, cancel := context.WithTimeout(ctx, patience)
		answer, err = h.processes[(n+try)%len(h.processes)].service.Deduct(patient, sku, order)
		cancel()
		if err == nil && answer.Status != http.StatusServiceUnavailable {
			break
		}
	}
	return answer, err
}

// target returns a process that does not stand still.
func (h *house) target() *process {
	for _, p := range h.processes {
		if !p.gate.isShut() {
			return p
		}
	}
	return h.processes[0]
}

func (h *house) close(ctx context.Context) error {
	for _, p := range h.processes {
		p.gate.reopen()
	}
	var errs []error
	for _, p := range h.processes {
		if p.service != nil {
			p.service.Close() // first, because a service waits for connections that have been opened and not used yet
		}
		errs = append(errs, p.app.Close(ctx))
	}
	return errors.Join(errs...)
}

// gate is between a process and the database, and before new connections to Redis. While it is shut the process stands
// still, like a process that was stopped or gets no processor time.
type gate struct {
	opens atomic.Pointer[chan struct{}] // closed when the gate opens; nil: it is open
}

func (g *gate) isShut() bool { return g.opens.Load() != nil }

func (g *gate) shut() { g.opens.CompareAndSwap(nil, new(make(chan struct{}))) }

func (g *gate) reopen() {
	if opens := g.opens.Swap(nil); opens != nil {
		close(*opens)
	}
}

// pass waits while the gate is shut.
func (g *gate) pass() {
	if opens := g.opens.Load(); opens != nil {
		<-*opens
	}
}

// gatedStore is the store behind the gate of one process. A sale while the gate is shut goes on late, with its old
// fencing token and deadline.
type gatedStore struct {
	stock.Store
	gate *gate
}

// Deduct implements [stock.Store].
func (s gatedStore) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	s.gate.pass()
	return s.Store.Deduct(ctx, batch)
}

// Merge implements [stock.Store].
func (s gatedStore) Merge(ctx context.Context, merge stock.Batch) (stock.BatchResult, error) {
	s.gate.pass()
	return s.Store.Merge(ctx, merge)
}
