package app

import (
	"errors"
	"sync"
	"time"

	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// noticesPatience is for how long notifications may fail while PostgreSQL is there, until an operator is told.
const noticesPatience = 3 * time.Second

// noticesObserver tells an operator when notifications of restocks do not arrive. In an outage of PostgreSQL none do.
type noticesObserver struct {
	selling.Observer
	warnings *warnings
	outage   *outage

	mu    sync.Mutex
	since time.Time // when they began to fail beside any outage; zero: they work
}

// NotificationsFail implements [selling.Observer].
func (o *noticesObserver) NotificationsFail(err error) {
	o.Observer.NotificationsFail(err)
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		o.since = time.Time{}
		o.warnings.end("notices_failing")
	case errors.Is(err, postgres.ErrDeaf):
		o.warnings.begin("notices_failing", "no notifications of restocks, which are noticed within a second: "+
			"give --direct-url, which leads past the pooler to the same database", "error", err)
	case o.outage.on.Load() || o.since.IsZero():
		o.since = now
	case now.Sub(o.since) >= noticesPatience:
		o.warnings.begin("notices_failing", "no notifications of restocks, which are noticed within a second: "+
			"the service needs one connection more to PostgreSQL", "error", err)
	}
}
