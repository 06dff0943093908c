package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/singleflight"

	"inventory/internal/stock"
)

const (
	readyTimeout = 2 * time.Second        // for the database
	redisTimeout = 500 * time.Millisecond // for Redis and for locks: a probe must not fail because they hang
	readyFor     = time.Second            // for that long later probes get the same answer
)

// readiness has "ok" for each part, or what is wrong: "unreachable", "not_writable" or "failing". "none" means that there
// is no such part.
type readiness struct {
	Database string `json:"database"`
	Redis    string `json:"redis"`
	Locks    string `json:"locks"`
	// Nodes are those of a database that has several: while one of them takes writes, the database is "ok".
	Nodes map[string]string `json:"nodes,omitempty"`
	// Warnings are what works less well than it should, by code. They do not make the service unready.
	Warnings map[string]string `json:"warnings,omitempty"`
}

// leaving is the answer of a service that stops. It checks nothing, so it comes at once.
type leaving struct {
	Stopping bool `json:"stopping"`
}

// readyHandler answers 200 while the database takes writes: without Redis the service is slower, not wrong. A service
// that stops is not ready.
func (c AdminConfig) readyHandler() echo.HandlerFunc {
	database := &recent{ask: c.Database, limit: readyTimeout}
	redis := &recent{ask: c.Redis, limit: redisTimeout}
	locks := &recent{ask: c.Locks, limit: redisTimeout}
	return func(e echo.Context) error {
		if c.Stopping != nil && c.Stopping() {
			return e.JSON(http.StatusServiceUnavailable, leaving{Stopping: true})
		}
		ctx, answer := e.Request().Context(), readiness{}
		var asked sync.WaitGroup
		asked.Go(func() { answer.Database = state(database.answer(ctx), "unreachable") })
		asked.Go(func() { answer.Redis = state(redis.answer(ctx), "unreachable") })
		asked.Go(func() { answer.Locks = state(locks.answer(ctx), "failing") })
		asked.Wait()
		answer.Nodes = c.nodeStates()
		if c.Warnings != nil {
			answer.Warnings = c.Warnings()
		}
		if answer.Database != "ok" {
			return e.JSON(http.StatusServiceUnavailable, answer)
		}
		return e.JSON(http.StatusOK, answer)
	}
}

// nodeStates returns the readiness of each node, in the words for a database.
func (c AdminConfig) nodeStates() map[string]string {
	if c.Nodes == nil {
		return nil
	}
	states := make(map[string]string)
	for address, err := range c.Nodes() {
		states[address] = state(err, "unreachable")
	}
	return states
}

// state returns a word without the error's text, which may hold addresses and names.
func state(err error, bad string) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errNone):
		return "none"
	case errors.Is(err, stock.ErrNotWritable):
		return "not_writable"
	default:
		return bad
	}
}

var (
	errNone = errors.New("there is none")
	errSlow = errors.New("no answer in time")
)

// recent is a check that is not free. Frequent probes share its results, and it does not start again while it hangs.
type recent struct {
	ask    func(context.Context) error // nil: there is none
	limit  time.Duration
	asking singleflight.Group
	mu     sync.Mutex
	at     time.Time
	err    error
}

func (r *recent) answer(ctx context.Context) error {
	if r.ask == nil {
		return errNone
	}
	if err, fresh := r.last(); fresh {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.limit, errSlow)
	defer cancel()
	// It goes on when its first caller leaves: others wait for it.
	answer := r.asking.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.limit)
		defer cancel()
		err := r.ask(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.at, r.err = time.Now(), err
		return nil, err
	})
	select {
	case a := <-answer:
		return a.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *recent) last() (err error, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err, !r.at.IsZero() && time.Since(r.at) < readyFor
}
