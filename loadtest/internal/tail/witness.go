package tail

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/app"
	"inventory/internal/locking"
	"inventory/loadtest/internal/servers"
)

// witness reads the holders of the locks of a SKU's segments from Redis.
type witness struct {
	kind     string           // of the locks
	segments int              // of the SKU
	locks    []*locking.Locks // one for each server; none: there are no locks
	servers.Closers
}

// openWitness connects to the servers of the locks.
func openWitness(kind, redisURLs string, segments int) (w *witness, err error) {
	w = &witness{kind: kind, segments: segments}
	if kind == app.LockNone {
		return w, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	for redisURL := range strings.SplitSeq(redisURLs, ",") {
		options, err := servers.RedisOptions(redisURL)
		if err != nil {
			return w, err
		}
		client := redis.NewClient(options)
		w.OnClose(client.Close)
		locks, err := locking.New(client)
		if err != nil {
			return w, fmt.Errorf("open locks: %w", err)
		}
		w.locks = append(w.locks, locks)
		w.OnClose(locks.Close)
	}
	return w, nil
}

// idle reports whether there are no locks.
func (w *witness) idle() bool { return len(w.locks) == 0 }

// holder returns the process that holds the lock of a segment, "" for none, and what is left of the lease.
func (w *witness) holder(ctx context.Context, sku string, segment int) (name string, lease time.Duration, err error) {
	lock := app.SegmentLock(w.kind, w.locks)(sku, segment).(interface { // each kind of lock is one
		Inspect(ctx context.Context) (locking.State, error)
	})
	state, err := lock.Inspect(ctx)
	if err != nil {
		return "", 0, fmt.Errorf("ask for the holder of a lock: %w", err)
	}
	if state.Held() {
		name, _, _ = strings.Cut(state.Holders[0].Owner, ":") // an owner is PROCESS:OWNER
	}
	return name, state.Remaining, nil
}

// holders returns the processes that hold locks of a SKU until done is closed.
func (w *witness) holders(ctx context.Context, sku string, done <-chan struct{}) (map[string]bool, error) {
	names := map[string]bool{}
	for {
		for segment := range w.segments {
			name, _, err := w.holder(ctx, sku, segment)
			if err != nil {
				return nil, err
			}
			names[name] = true
		}
		select {
		case <-done:
			delete(names, "")
			return names, nil
		default:
		}
	}
}

// Strike is how a process was killed.
type Strike struct {
	At        float64 `json:"at_seconds"` // since the first buyer
	Held      bool    `json:"held"`       // the lock of a segment was still its own after its death
	Segment   int     `json:"segment"`    // of that lock; -1: there are no locks
	LeaseLeft float64 `json:"lease_left_seconds"`
	Tries     int     `json:"tries"` // how often it was stopped until the lock was still its own
}

// strike kills a process that holds the lock of a segment, or any process where there are no locks. began is when the first
// buyer was due.
func (w *witness) strike(ctx context.Context, sku string, victim *process, began time.Time) (s Strike, err error) {
	s.Segment = -1
	if !w.idle() {
		if s.Segment, s.Tries, err = w.corner(ctx, sku, victim); err != nil {
			return s, err
		}
	}
	s.At = time.Since(began).Seconds()
	if err := victim.kill(); err != nil || w.idle() {
		return s, err
	}
	name, lease, err := w.holder(ctx, sku, s.Segment)
	s.Held, s.LeaseLeft = victim.names[name], lease.Seconds()
	return s, err
}

// corner stops a process that holds the lock of a segment, and returns the segment.
func (w *witness) corner(ctx context.Context, sku string, victim *process) (segment, tries int, err error) {
	for tries = 1; ; tries++ {
		if segment, err = w.await(ctx, sku, victim); err != nil {
			return 0, tries, err
		}
		if err := victim.Stop(); err != nil {
			return 0, tries, fmt.Errorf("stop a process: %w", err)
		}
		// A release that was sent before the stop may arrive after the first answer, but not after the second.
		held := true
		for range 2 {
			name, _, failed := w.holder(ctx, sku, segment)
			held, err = held && victim.names[name], errors.Join(err, failed)
		}
		if held && err == nil {
			return segment, tries, nil
		}
		if err := errors.Join(err, victim.Continue()); err != nil {
			return 0, tries, err
		}
	}
}

// await returns a segment whose lock a process holds.
func (w *witness) await(ctx context.Context, sku string, p *process) (int, error) {
	for segment := 0; ; segment = (segment + 1) % w.segments {
		name, _, err := w.holder(ctx, sku, segment)
		if err != nil || p.names[name] {
			return segment, err
		}
	}
}
