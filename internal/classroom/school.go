// Package classroom teaches the effect of segments and locks. It runs one to three services, sells at a pace that
// a person sets, causes faults at a button, and shows what each did to the speed and that the audit still holds.
//
// It is for one machine and for `inventory demo --watch` only. The services are in one process of the operating system:
// they share a database and three Redis servers, which they reach through proxies whose connections can be cut and held back.
// A gate before the database can be shut.
//
//	browser ── Handler ─┬─ /classroom   the page, and what its buttons do
//	                    └─ else         one of the services: the console, the API
//
//	buyers ── client ── services ─┬─ gate ── store
//	                             └─ network ── Redis
package classroom

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock"
)

// Config is the configuration of a classroom.
type Config struct {
	DatabaseURL string
	Lock        string // of the services at first; "" is app.LockReentrant
	Logger      *slog.Logger
}

// School is an open classroom.
type School struct {
	config  Config
	store   stock.Store
	network *network
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup // measuring
	closers []func() error

	doing sync.Mutex // one command at a time

	mu     sync.RWMutex
	house  *house
	locked string // the kind of lock, also while locks are off
	sale   *sale  // nil: there was none
	open   bool   // buyers come
	acts   []*act // the newest first
	acted  int
}

// Open opens a classroom with one service.
func Open(ctx context.Context, c Config) (s *School, err error) {
	if c.Lock == "" {
		c.Lock = app.LockReentrant
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s = &School{config: c, locked: c.Lock}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
			s = nil
		}
	}()
	store, closing, err := app.OpenToShare(ctx, c.DatabaseURL, c.Logger)
	if err != nil {
		return s, err
	}
	s.store, s.closers = store, append(s.closers, closing)
	if s.network, err = newNetwork(); err != nil {
		return s, err
	}
	s.closers = append(s.closers, s.network.close)
	s.house, err = build(ctx, plan{Lock: c.Lock, Processes: 1}, c.DatabaseURL, store, s.network, c.Logger)
	return s, err
}

// Close ends the sale and the services.
func (s *School) Close(ctx context.Context) error {
	s.doing.Lock()
	defer s.doing.Unlock()
	s.cancel()
	s.stop()
	s.mend()
	s.running.Wait()
	var errs []error
	if s.house != nil {
		errs = append(errs, s.house.close(ctx))
	}
	for _, undo := range slices.Backward(s.closers) {
		errs = append(errs, undo())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// mend ends every fault.
func (s *School) mend() {
	if s.network != nil {
		s.network.stop(false)
		for process := range mostProcesses {
			s.network.cut(process, false)
			s.network.hold(process, false)
		}
	}
	if s.house != nil {
		for _, p := range s.house.processes {
			p.gate.reopen()
		}
	}
}

// handover is how long replaced services go on.
const handover = time.Second

// rebuild mends everything and replaces the services.
func (s *School) rebuild(p plan) error {
	s.mend()
	next, err := build(s.ctx, p, s.config.DatabaseURL, s.store, s.network, s.config.Logger)
	if err != nil {
		return err
	}
	before := s.house
	s.house = next
	s.running.Go(func() {
		select { // for requests in flight
		case <-time.After(handover):
		case <-s.ctx.Done():
		}
		if err := before.close(context.WithoutCancel(s.ctx)); err != nil {
			s.config.Logger.Warn("a service did not end as it should", "error", err)
		}
	})
	return nil
}

// build makes new services.
func (s *School) build(p plan) error {
	if p.Processes < 1 || p.Processes > mostProcesses {
		return fmt.Errorf("processes: must be 1 to %d", mostProcesses)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pace, before := s.paceNow(), s.house.plan
	if err := s.rebuild(p); err != nil {
		return err
	}
	if p.Lock != app.LockNone {
		s.locked = p.Lock
	}
	s.note(p.String(), p.why(before), pace)
	return nil
}

// start starts a sale, and ends the one before.
func (s *School) start(o order) error {
	if err := o.check(); err != nil {
		return err
	}
	s.mu.RLock()
	pace := s.paceNow()
	s.mu.RUnlock()
	s.stop()
	next, err := openSale(s.ctx, o, s.current, s.store)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sale, s.open = next, true
	s.note(o.String(), o.why(), pace)
	return nil
}

// stop lets no more buyers in.
func (s *School) stop() {
	s.mu.Lock()
	current := s.sale
	s.open = false
	s.mu.Unlock()
	if current != nil {
		current.stop()
	}
}

// current returns the house in which buyers buy now.
func (s *School) current() *house {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.house
}

// breakIt starts or ends a fault, of one process or of all.
func (s *School) breakIt(name string, process int, broken bool) error {
	i := slices.IndexFunc(breaks(), func(b breaking) bool { return b.Name == name })
	if i < 0 {
		return fmt.Errorf("there is nothing to break that is called %q", name)
	}
	b := breaks()[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Each && (process < 0 || process >= len(s.house.processes)) {
		return fmt.Errorf("there is no process %d", process+1)
	}
	pace := s.paceNow()
	if err := b.do(s, process, broken); err != nil {
		return err
	}
	what, why := b.Break, b.Why
	switch {
	case !broken:
		what, why = b.Mend, b.WhyMend
	case s.house.Processes == 1 && b.Alone != "":
		why = b.Alone
	}
	if b.Each {
		what = fmt.Sprintf("%s %d", what, process+1)
	}
	s.note(what, why, pace)
	return nil
}
