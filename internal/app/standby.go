package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

const (
	standbyAnswer = time.Second // for a standby to answer; then the primary is queried
	standbyRest   = time.Second // for that long the last check of a standby counts
)

// standbyStore reads from a standby what need not be fresh: lists and the ledger. It reads what shows a caller its own
// writes from the primary, and everything while the standby does not answer or does not follow.
type standbyStore struct {
	stock.Store // of the primary
	standby     *postgres.Standby
	log         *slog.Logger

	mu     sync.Mutex
	usable bool
	until  time.Time // when the standby is checked again
}

// openStandby opens the standby, if there is one. It need not be there yet.
func (a *App) openStandby(ctx context.Context, d database) error {
	if a.config.ReadURL == "" {
		return nil
	}
	reader, err := parseDatabase(a.config.ReadURL)
	if err != nil {
		return fmt.Errorf("of the standby: %w", err)
	}
	if d.postgresURL == "" || reader.postgresURL == "" || d.citus || reader.citus {
		return ConfigError{errors.New("a standby for reads: needs PostgreSQL, and not Citus")}
	}
	standby, err := postgres.OpenStandby(ctx, reader.postgresURL, d.configure...)
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) error { return standby.Close() })
	a.store = &standbyStore{Store: a.store, standby: standby, log: a.config.Logger}
	return nil
}

// Summaries implements [stock.Store].
func (s *standbyStore) Summaries(ctx context.Context, after string, limit int) ([]stock.Summary, error) {
	return firstOf(ctx, s,
		func(ctx context.Context) ([]stock.Summary, error) { return s.standby.Summaries(ctx, after, limit) },
		func() ([]stock.Summary, error) { return s.Store.Summaries(ctx, after, limit) })
}

// Movements implements [stock.Store].
func (s *standbyStore) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	return firstOf(ctx, s,
		func(ctx context.Context) ([]stock.Movement, error) {
			return s.standby.Movements(ctx, sku, after, limit)
		},
		func() ([]stock.Movement, error) { return s.Store.Movements(ctx, sku, after, limit) })
}

// DeductionPage implements [stock.Store].
func (s *standbyStore) DeductionPage(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error) {
	return firstOf(ctx, s,
		func(ctx context.Context) (stock.DeductionPage, error) { return s.standby.DeductionPage(ctx, query) },
		func() (stock.DeductionPage, error) { return s.Store.DeductionPage(ctx, query) })
}

// firstOf reads from the standby, or else from the primary. The primary also has what the standby does not have yet.
func firstOf[T any](ctx context.Context, s *standbyStore, standby func(context.Context) (T, error), primary func() (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, standbyAnswer)
	defer cancel()
	if !s.use(limited) {
		return primary()
	}
	result, err := standby(limited)
	if err == nil {
		return result, nil
	}
	if stock.CodeOf(err) == stock.CodeUnavailable && ctx.Err() == nil {
		s.note(err)
	}
	return primary()
}

// use reports whether to read from the standby. Every standbyRest one caller checks it; the others use the last result.
func (s *standbyStore) use(ctx context.Context) bool {
	s.mu.Lock()
	now := time.Now()
	if usable := s.usable; now.Before(s.until) {
		s.mu.Unlock()
		return usable
	}
	s.until = now.Add(standbyRest)
	s.mu.Unlock()
	err := s.standby.Check(ctx)
	s.note(err)
	return err == nil
}

// note keeps the result of a check, and logs a change.
func (s *standbyStore) note(err error) {
	s.mu.Lock()
	before := s.usable
	s.usable, s.until = err == nil, time.Now().Add(standbyRest)
	s.mu.Unlock()
	switch {
	case before && err != nil:
		s.log.Warn("the primary reads for the standby", "error", err)
	case !before && err == nil:
		s.log.Info("the standby reads lists and the ledger")
	}
}
