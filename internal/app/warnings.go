package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"

	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

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
		w.log.Warn(text, append([]any{"code", code}, details...)...)
	}
}

// end removes a warning whose cause has gone.
func (w *warnings) end(code string) {
	w.mu.Lock()
	text, before := w.current[code]
	delete(w.current, code)
	w.mu.Unlock()
	if before {
		w.log.Info("no longer so: "+text, "code", code)
	}
}

// list returns the text of each current warning, by its code.
func (w *warnings) list() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.current)
}

const noticesCode = "notices_failing"

// warnOfNotices returns an observer that also warns while notifications of restocks do not arrive. In an outage none do.
func (a *App) warnOfNotices(ctx context.Context, observer selling.Observer) selling.Observer {
	return func(activity selling.Activity) {
		observer(activity)
		switch err := activity.Err; {
		case activity.Kind != selling.NotificationsFailed:
		case err == nil:
			a.warnings.end(noticesCode)
		case errors.Is(err, postgres.ErrDeaf), a.outage.probe(ctx):
			a.warnings.begin(noticesCode, "no notifications of restocks, which are noticed within a second: give --direct-url, which leads past "+
				"a pooler to the same database, and the service one connection more to PostgreSQL", "error", err)
		}
	}
}

// logFailures logs what does not work at the start. The service starts anyway: it sells without locks, and later a
// replica may be promoted, or a disk may get space again.
func (a *App) logFailures(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	if err := a.store.Ready(ctx); err != nil {
		a.config.Logger.Warn("the database cannot be written to; the service is not ready", "error", err)
	}
	_ = a.service.CheckLocks() // the service logs that they fail
}
