package lockbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
)

const (
	mutexName = kinds.Mutex
	fairName  = kinds.Fair
	// peerLease is the lease of every lock without another one.
	peerLease = 30 * time.Second
	// session is how long ZooKeeper keeps that of a client which has gone.
	session = 10 * time.Second
	// often and seldom are how often waiters try that can only poll.
	often, seldom = time.Millisecond, 50 * time.Millisecond
	// byChance is how often redsync's do, on average.
	byChance = 25 * time.Millisecond
	spare    = 8 // connections for what a library does in addition to its callers
)

// entry is a kind of lock that takes part.
type entry struct {
	kinds.Kind
	lease time.Duration
	poll  time.Duration // of its waiters
}

// title is the name, with the interval of one that polls.
func (e entry) title() string {
	if e.Polls {
		return fmt.Sprint(e.Name, " ", e.poll)
	}
	return e.Name
}

// entries are the kinds of these names whose servers are there. A name that is there twice polls often first.
func entries(s servers.URLs, names ...string) (all []entry) {
	for i, name := range names {
		for _, k := range kinds.These(s, name) {
			e := entry{k, peerLease, seldom}
			switch {
			case name == kinds.Redsync:
				e.poll = byChance
			case slices.Contains(names[i+1:], name):
				e.poll = often
			}
			all = append(all, e)
		}
	}
	return all
}

// fleet is the clients of a contender: one for all callers, or one for each.
type fleet struct {
	entry
	clients []*kinds.Client
	meter   kinds.Meter
	servers.Closers
}

// openFleet opens clients for callers that share them evenly.
func openFleet(ctx context.Context, e entry, s servers.URLs, clients, callers int) (*fleet, error) {
	f := &fleet{entry: e}
	for range clients {
		c, err := e.Open(ctx, kinds.Setting{
			URLs: s, Timing: kinds.Timing{Lease: e.lease, Poll: e.poll}, Session: session,
			Connections: (callers + clients - 1) / clients, Spare: spare, Meter: &f.meter,
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", e.title(), err), f.Close())
		}
		f.OnClose(c.Close)
		f.clients = append(f.clients, c)
	}
	return f, nil
}

// locks give each of some callers one lock through its client.
func (f *fleet) locks(name string, callers int) []kinds.Lock {
	all := make([]kinds.Lock, callers)
	for i := range all {
		all[i] = f.clients[i%len(f.clients)].Lock(name)
	}
	return all
}

// drive starts callers of locks, and counts the commands that they send.
func (f *fleet) drive(ctx context.Context, l load, groups ...[]kinds.Lock) *tally {
	before := f.meter.Commands.Load()
	t := drive(ctx, l, groups...)
	t.Commands = f.meter.Commands.Load() - before
	return t
}

// warmUp sends scripts and opens subscriptions before the clock starts.
func (f *fleet) warmUp(ctx context.Context, name string, callers int) {
	drive(ctx, load{Times: 1, Hold: time.Millisecond}, f.locks(name+"-warm", callers))
}
