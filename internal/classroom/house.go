package classroom

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/stock"
)

const (
	drain       = 3 * time.Second // for requests in flight when a process ends
	patience    = 8 * time.Second // of buyers, who try one process after the other
	connections = 64
)

// plan is the configuration of the processes.
type plan struct {
	Lock      string `json:"lock"`
	Processes int    `json:"processes"`
}

const mostProcesses = 3

func (p plan) check() error {
	switch p.Lock {
	case app.LockReentrant, app.LockFair, app.LockRed, app.LockNone:
	default:
		return fmt.Errorf("there is no lock %q", p.Lock)
	}
	if p.Processes < 1 || p.Processes > mostProcesses {
		return fmt.Errorf("processes: must be 1 to %d", mostProcesses)
	}
	return nil
}

// process is one of the services that sell. All are in one process of the operating system, and share only the database
// and Redis.
type process struct {
	app  *app.App
	gate *gate
	url  *url.URL
}

// house is the processes of a plan, and the client of the buyers.
type house struct {
	plan
	processes []*process
	fleet     *client.Fleet
}

// build starts the processes of a plan.
func build(ctx context.Context, p plan, databaseURL string, store stock.Store, n *network, log *slog.Logger) (h *house, err error) {
	h = &house{plan: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close(context.WithoutCancel(ctx)))
		}
	}()
	var urls []string
	for number := range p.Processes {
		gate := new(gate)
		a, err := app.Start(ctx, app.Config{
			DatabaseURL: databaseURL, Store: gatedStore{store, gate}, RedisDial: n.dialer(number, gate), Lock: p.Lock,
			DrainTimeout: drain, Logger: log,
		})
		if err != nil {
			return h, fmt.Errorf("start process %d: %w", number+1, err)
		}
		at, err := url.Parse(a.URL())
		if err != nil {
			return h, err
		}
		h.processes, urls = append(h.processes, &process{a, gate, at}), append(urls, a.URL())
	}
	h.fleet, err = client.NewFleet(urls, connections, patience)
	return h, err
}

// target returns the URL of a process that does not stand still.
func (h *house) target() *url.URL {
	for _, p := range h.processes {
		if !p.gate.isShut() {
			return p.url
		}
	}
	return h.processes[0].url
}

func (h *house) close(ctx context.Context) error {
	for _, p := range h.processes {
		p.gate.reopen()
	}
	if h.fleet != nil {
		h.fleet.Close() // first, because a service waits for connections that have been opened and not used yet
	}
	var errs []error
	for _, p := range h.processes {
		errs = append(errs, p.app.Close(ctx))
	}
	return errors.Join(errs...)
}
