package tail

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"inventory/internal/app"
	"inventory/internal/locking"
)

// witness asks Redis who holds the locks of a SKU's segments.
type witness struct {
	kind    string // of the locks
	clients []*redis.Client
	locks   []*locking.Locks // one for each server
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
		options, err := redis.ParseURL(redisURL)
		if err != nil {
			return w, errors.New("redis URL: must be redis://HOST:PORT/DB or rediss://…") // err may quote a password
		}
		client := redis.NewClient(options)
		w.clients = append(w.clients, client)
		locks, err := locking.New(client)
		if err != nil {
			return w, fmt.Errorf("open locks: %w", err)
		}
		w.locks = append(w.locks, locks)
	}
	return w, nil
}

func (w *witness) close() error {
	var errs []error
	for _, l := range w.locks {
		errs = append(errs, l.Close())
	}
	for _, c := range w.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// idle tells whether there are no locks.
func (w *witness) idle() bool { return len(w.locks) == 0 }

// inspector is a lock of any kind.
type inspector interface {
	Inspect(ctx context.Context) (locking.State, error)
}

// lock is that of a segment, named as internal/app/locks.go names it.
func (w *witness) lock(sku string, segment int) inspector {
	name := sku + "/" + strconv.Itoa(segment)
	switch w.kind {
	case app.LockFair:
		return w.locks[0].FairMutex(name, locking.Group(sku))
	case app.LockRed:
		return locking.RedLock(name, w.locks...)
	default:
		return w.locks[0].Mutex(name, locking.Group(sku))
	}
}

// look tells which process holds the lock of a segment, "" if none, and what else is known of it.
func (w *witness) look(ctx context.Context, sku string, segment int) (name string, state locking.State, err error) {
	if state, err = w.lock(sku, segment).Inspect(ctx); err != nil || !state.Held() {
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
