package app

import (
	"log/slog"
	"maps"
	"sync"
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
