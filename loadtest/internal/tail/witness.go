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

// witness asks Redis who holds the locks of a SKU's segments.
type witness struct {
	kind   string           // of the locks
	locks  []*locking.Locks // one for each server
	opened servers.Closers
}

// openWitness connects to the servers of a configuration. Where there are no locks there is nobody to ask.
func openWitness(kind, redisURLs string) (w *witness, err error) {
	w = &witness{kind: kind}
	if kind == app.LockNone {
		return w, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for redisURL := range strings.SplitSeq(redisURLs, ",") {
		options, err := servers.RedisOptions(redisURL)
		if err != nil {
			return w, err
		}
		client := redis.NewClient(options)
		w.opened.OnClose(client.Close)
		locks, err := locking.New(client)
		if err != nil {
			return w, fmt.Errorf("open locks: %w", err)
		}
		w.locks = append(w.locks, locks)
		w.opened.OnClose(locks.Close)
	}
	return w, nil
}

func (w *witness) close() error { return w.opened.Close() }

// idle tells whether there are no locks.
func (w *witness) idle() bool { return len(w.locks) == 0 }

// look tells which process holds the lock of a segment, "" if none, and what else is known of it.
func (w *witness) look(ctx context.Context, sku string, segment int) (name string, state locking.State, err error) {
	lock := app.SegmentLock(w.kind, w.locks)(sku, segment).(interface { // each kind of lock is one
		Inspect(ctx context.Context) (locking.State, error)
	})
	if state, err = lock.Inspect(ctx); err != nil || !state.Held() {
		return "", state, err
	}
	name, _, _ = strings.Cut(state.Holders[0].Owner, ":") // an owner is PROCESS:OWNER
	return name, state, nil
}

// holdings are the segments whose locks are held, and by which process, as they are asked for one after the other.
func (w *witness) holdings(ctx context.Context, sku string, segments int) (map[int]string, error) {
	held := map[int]string{}
	for segment := range segments {
		name, _, err := w.look(ctx, sku, segment)
		if err != nil {
			return nil, err
		}
		if name != "" {
			held[segment] = name
		}
	}
	return held, nil
}

// seen are the processes that are seen to hold locks of a SKU until done is closed.
func (w *witness) seen(ctx context.Context, sku string, segments int, done <-chan struct{}) (map[string]bool, error) {
	names := map[string]bool{}
	for {
		held, err := w.holdings(ctx, sku, segments)
		if err != nil {
			return nil, fmt.Errorf("see who holds the locks: %w", err)
		}
		for _, name := range held {
			names[name] = true
		}
		select {
		case <-done:
			return names, nil
		default:
		}
	}
}

// Strike is how a process was killed.
type Strike struct {
	At        float64 `json:"at_seconds"` // since the first buyer
	Held      bool    `json:"held"`       // when it was gone, it still had the lock of a segment
	Segment   int     `json:"segment"`    // whose; -1: of none
	LeaseLeft float64 `json:"lease_left_seconds"`
	Tries     int     `json:"tries"` // how often it was stopped until the lock was still its own
}

// strike kills a process at a moment when it holds the lock of a segment: see the package's comment. Without locks it kills it
// as it is. began is when the first buyer was due.
func (w *witness) strike(ctx context.Context, sku string, segments int, victim *process, began time.Time) (Strike, error) {
	s := Strike{Segment: -1}
	if !w.idle() {
		if err := w.corner(ctx, sku, segments, victim, &s); err != nil {
			return s, err
		}
	}
	s.At = time.Since(began).Seconds()
	if err := victim.kill(); err != nil {
		return s, err
	}
	if w.idle() {
		return s, nil
	}
	name, state, err := w.look(ctx, sku, s.Segment)
	if err != nil {
		return s, fmt.Errorf("ask whose lock it is: %w", err)
	}
	s.Held, s.LeaseLeft = victim.names[name], state.Remaining.Seconds()
	return s, nil
}

// corner waits until the victim has a lock, and stops it with the lock in hand.
func (w *witness) corner(ctx context.Context, sku string, segments int, victim *process, s *Strike) error {
	for s.Tries = 1; ; s.Tries++ {
		segment, err := w.await(ctx, sku, segments, victim)
		if err != nil {
			return err
		}
		if err := victim.Stop(); err != nil {
			return fmt.Errorf("stop a process: %w", err)
		}
		// What it sent before it stood still may be under way: the second answer is younger than that.
		held := true
		for range 2 {
			name, _, lookErr := w.look(ctx, sku, segment)
			held, err = held && victim.names[name], errors.Join(err, lookErr)
		}
		if held && err == nil {
			s.Segment = segment
			return nil
		}
		if err := errors.Join(err, victim.Continue()); err != nil {
			return fmt.Errorf("let a process go on: %w", err)
		}
	}
}

// await returns a segment whose lock a process has.
func (w *witness) await(ctx context.Context, sku string, segments int, p *process) (segment int, err error) {
	for {
		held, err := w.holdings(ctx, sku, segments)
		if err != nil {
			return 0, fmt.Errorf("wait until a process holds a lock: %w", err)
		}
		for segment, name := range held {
			if p.names[name] {
				return segment, nil
			}
		}
	}
}
