package lockbench

import (
	"context"
	"errors"
	"fmt"

	"inventory/loadtest/internal/servers"
)

// A kind of lock takes part in cases as a contender.
type kind struct {
	name string
	ours bool
	// absent tells that the kind needs a server that is not there; nil: it never does.
	absent func(s servers.URLs) bool
	// open makes the client of one process, for some callers at once.
	open func(ctx context.Context, s servers.URLs, callers int) (client, error)
}

// client is one process's way to the locks of a kind: its connections, and what it has sent over them.
type client interface {
	// handle is one caller's way to the lock of a name.
	handle(name string) handle
	// commands is how many were sent so far.
	commands() int64
	close() error
}

// handle belongs to one caller.
type handle interface {
	lock(ctx context.Context) (hold, error)
}

// hold is a lock that was taken.
type hold interface {
	Unlock(ctx context.Context) error
}

// fleet is what a contender runs a case with: one client for all callers, or one for each.
type fleet struct {
	kind
	clients []client
}

// openFleet opens clients for callers that share them evenly.
func openFleet(ctx context.Context, k kind, s servers.URLs, clients, callers int) (*fleet, error) {
	f := &fleet{kind: k}
	for range clients {
		c, err := k.open(ctx, s, (callers+clients-1)/clients)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", k.name, err), f.close())
		}
		f.clients = append(f.clients, c)
	}
	return f, nil
}

// handles are those of some callers to one lock.
func (f *fleet) handles(name string, callers int) []handle {
	all := make([]handle, callers)
	for i := range all {
		all[i] = f.clients[i%len(f.clients)].handle(name)
	}
	return all
}

func (f *fleet) commands() (sum int64) {
	for _, c := range f.clients {
		sum += c.commands()
	}
	return sum
}

func (f *fleet) close() error {
	var errs []error
	for _, c := range f.clients {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// openFleets opens one fleet per kind. close closes all of them.
func openFleets(ctx context.Context, kinds []kind, s servers.URLs, clients, callers int) (fleets []*fleet, closeAll func() error, err error) {
	closeAll = func() error {
		var errs []error
		for _, f := range fleets {
			errs = append(errs, f.close())
		}
		return errors.Join(errs...)
	}
	for _, k := range kinds {
		f, err := openFleet(ctx, k, s, clients, callers)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		fleets = append(fleets, f)
	}
	return fleets, closeAll, nil
}
