package sqlite

import (
	"context"
	"errors"
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestNothingIsWrittenUnlessSQLiteCommits has writes fail before SQLite is asked to commit: alone, and in a transaction that they may
// share. Nothing is written, and the error says so.
func TestNothingIsWrittenUnlessSQLiteCommits(t *testing.T) {
	insert := func(tx *transaction) error {
		_, err := tx.ExecContext(t.Context(), "CREATE TABLE large AS SELECT zeroblob(1000000)")
		return err
	}
	nothing := func(*transaction) error { return nil }
	type writer func(context.Context, func(*transaction) error) error
	for name, fail := range map[string]func(t *testing.T, s *Store, write writer) error{
		"its turn does not come": func(t *testing.T, s *Store, write writer) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer hold(s)()
			cancel()
			return write(ctx, nothing)
		},
		"another program writes": func(t *testing.T, s *Store, write writer) error {
			other, err := Open(t.Context(), s.file)
			if err != nil {
				t.Fatal(err)
			}
			tx, err := other.writer.begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := errors.Join(tx.Rollback(), other.Close()); err != nil {
					t.Error(err)
				}
			}()
			if _, err := s.writer.ExecContext(t.Context(), "PRAGMA busy_timeout = 0"); err != nil {
				t.Fatal(err)
			}
			return write(t.Context(), nothing)
		},
		"the disk is full": func(t *testing.T, s *Store, write writer) error {
			if _, err := s.writer.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // SQLite makes it what there are
				t.Fatal(err)
			}
			return write(t.Context(), insert)
		},
		"its context ends before the commit": func(t *testing.T, s *Store, write writer) error {
			ctx, cancel := context.WithCancel(t.Context())
			return write(ctx, func(*transaction) error {
				cancel()
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t)
			for _, how := range []func(context.Context, time.Time, func(*transaction) error) error{
				s.inTx,
				func(ctx context.Context, deadline time.Time, work func(*transaction) error) error {
					return s.inShared(ctx, deadline, 1, work)
				},
			} {
				err := fail(t, s, func(ctx context.Context, work func(*transaction) error) error { return how(ctx, time.Time{}, work) })
				if !errors.Is(err, stock.ErrUnwritten) {
					t.Errorf("got %v, want that nothing was written", err)
				}
			}
			if views, err := s.Statuses(t.Context(), "", 1); err != nil || len(views) > 0 {
				t.Errorf("found %v, %v, want nothing", views, err)
			}
		})
	}
}
