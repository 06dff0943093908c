package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// codeAttribute is what the log calls the code of a warning.
const codeAttribute = "code"

// warnings are what works less well than it should and what an operator can change: a setting of a server, a right that is
// missing. Each stands in the log once, when it begins, and in /readyz while it holds.
type warnings struct {
	log *slog.Logger

	mu      sync.Mutex
	current map[string]string // the text of each, by its code
}

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, current: make(map[string]string)}
}

// begin adds a warning. The code is what programs read; the text says in one line what to do, and is seen by whoever reads
// /readyz, so it holds no addresses or names. The details are for the log alone.
func (w *warnings) begin(code, text string, details ...any) {
	w.mu.Lock()
	_, before := w.current[code]
	w.current[code] = text
	w.mu.Unlock()
	if !before {
		w.log.Warn(text, append([]any{codeAttribute, code}, details...)...)
	}
}

// end removes a warning whose cause has gone.
func (w *warnings) end(code string) {
	w.mu.Lock()
	text, before := w.current[code]
	delete(w.current, code)
	w.mu.Unlock()
	if before {
		w.log.Info("no longer so: "+text, codeAttribute, code)
	}
}

// list returns the text of each current warning, by its code.
func (w *warnings) list() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.current)
}

// noticesPatience is for how long notifications may fail while PostgreSQL is there, until a warning begins.
const noticesPatience = 3 * time.Second

// notices warn when notifications of restocks do not arrive. In an outage of PostgreSQL none do.
type notices struct {
	warnings *warnings
	outage   *outage

	mu    sync.Mutex
	since time.Time // when they began to fail beside any outage; zero: they work
}

// watch returns an observer that also warns.
func (o *notices) watch(observer selling.Observer) selling.Observer {
	return func(a selling.Activity) {
		observer(a)
		if a.Kind == selling.NotificationsFailed {
			o.fail(a.Err)
		}
	}
}

// fail learns why notifications fail; nil: they work.
func (o *notices) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		o.since = time.Time{}
		o.warnings.end("notices_failing")
	case errors.Is(err, postgres.ErrDeaf):
		o.warnings.begin("notices_failing", "no notifications of restocks, which are noticed within a second: "+
			"give --direct-url, which leads past the pooler to the same database, or default_query_exec_mode=cache_statement "+
			"in --database-url if the pooler gives each session to one client", "error", err)
	case o.outage.on.Load() || o.since.IsZero():
		o.since = now
	case now.Sub(o.since) >= noticesPatience:
		o.warnings.begin("notices_failing", "no notifications of restocks, which are noticed within a second: "+
			"the service needs one connection more to PostgreSQL", "error", err)
	}
}

// logFailures logs what does not work at the start. The service starts anyway: it sells without locks, and later a
// replica may be promoted, or a disk may get space again.
func (a *App) logFailures(ctx context.Context, servers redisServers) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if err := a.store.Ready(ctx); err != nil {
		a.config.Logger.Warn("the database cannot be written to; the service is not ready", "error", err)
	}
	for _, server := range servers {
		if _, cluster := server.client.(*redis.ClusterClient); cluster {
			continue // the client finds its masters
		}
		role, err := server.client.Do(ctx, "ROLE").Slice()
		if err == nil && len(role) > 0 && role[0] == "slave" {
			a.config.Logger.Warn("a Redis server is a replica, which gives no locks unless it becomes the master",
				"redis", server.address)
		}
	}
	_ = a.service.CheckLocks() // the service logs that they fail
}

// warnOfPlatform says what the service lacks on a system. Files are locked everywhere.
func (a *App) warnOfPlatform(system string) {
	if system == "windows" {
		a.warnings.begin("platform", "on Windows keys and certificates are read again at a restart only: use Linux for production")
	}
}
