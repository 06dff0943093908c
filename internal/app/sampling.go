package app

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// The bounds of repeated failures. While a database is away every request fails, and would flood the log.
const (
	sampleFirst  = 10               // failures with one message that are logged at once
	sampleWithin = 10 * time.Second // and in this time; the others are counted
	sampleKinds  = 1000             // different messages
)

// sampling is a handler that logs a few of the failures that repeat, and then one line with the count of the others.
// Lines below warnings pass.
type sampling struct {
	slog.Handler
	samples *samples
}

// samples is shared by a handler and the handlers made from it.
type samples struct {
	mu     sync.Mutex
	kinds  map[string]*sample // by message
	closed bool
}

// sample is one message within one window of time.
type sample struct {
	logged  int
	dropped int
	last    slog.Record  // of those dropped
	to      slog.Handler // of last
	ends    *time.Timer  // logs the number of those dropped
}

// newSampling returns a handler that passes lines to another one. close logs what was dropped.
func newSampling(to slog.Handler) *sampling {
	return &sampling{to, &samples{kinds: make(map[string]*sample)}}
}

// Handle logs a line, or counts it.
func (s *sampling) Handle(ctx context.Context, line slog.Record) error {
	if line.Level >= slog.LevelWarn && s.samples.drop(line, s.Handler) {
		return nil
	}
	return s.Handler.Handle(ctx, line)
}

// WithAttrs returns a handler with attributes, which samples together with this one.
func (s *sampling) WithAttrs(attributes []slog.Attr) slog.Handler {
	return &sampling{s.Handler.WithAttrs(attributes), s.samples}
}

// WithGroup returns a handler with a group, which samples together with this one.
func (s *sampling) WithGroup(name string) slog.Handler {
	return &sampling{s.Handler.WithGroup(name), s.samples}
}

// drop counts a line, and reports whether enough lines with its message have been logged.
func (s *samples) drop(line slog.Record, to slog.Handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[line.Message]
	if k == nil {
		if s.closed || len(s.kinds) >= sampleKinds {
			return false
		}
		k = &sample{}
		k.ends = time.AfterFunc(sampleWithin, func() { s.end(line.Message) })
		s.kinds[line.Message] = k
	}
	if k.logged < sampleFirst {
		k.logged++
		return false
	}
	k.dropped, k.last, k.to = k.dropped+1, line.Clone(), to
	return true
}

// end ends the window of a message.
func (s *samples) end(message string) {
	s.mu.Lock()
	defer s.mu.Unlock() // close waits until the line is logged
	if k := s.kinds[message]; k != nil {
		delete(s.kinds, message)
		k.flush()
	}
}

// flush logs the last of the lines that were dropped, and how many there were.
func (k *sample) flush() {
	if k.dropped == 0 {
		return
	}
	k.last.AddAttrs(slog.Int("repeated", k.dropped))
	_ = k.to.Handle(context.Background(), k.last) // there is nowhere else to report it
}

// close ends all windows. Later lines pass.
func (s *sampling) close() {
	s.samples.mu.Lock()
	kinds := s.samples.kinds
	s.samples.kinds, s.samples.closed = nil, true
	s.samples.mu.Unlock()
	for _, k := range kinds {
		k.ends.Stop()
		k.flush()
	}
}
