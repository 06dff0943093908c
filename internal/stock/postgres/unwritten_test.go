package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// raise has each insert of a deduction fail with the SQLSTATE that the table "raised" holds: at once, or in the commit.
const raise = `
CREATE TABLE raised (state text, late boolean);
CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE wanted text := (SELECT state FROM raised WHERE late = (TG_NAME = 'late'));
BEGIN
    IF wanted IS NOT NULL THEN RAISE EXCEPTION 'on purpose' USING ERRCODE = wanted; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER early AFTER INSERT ON deductions FOR EACH ROW EXECUTE FUNCTION raise();
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON deductions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION raise()`

// TestServersErrorsSayWhetherTheyUndo has batches fail with SQLSTATEs, in their statement and in their commit. A server that
// answers with one of a transaction that was undone has written nothing. The outcome is not known of one that a pooler sends when it has
// lost the server, or that the server sends as it goes; but nothing is written before the commit was sent.
func TestServersErrorsSayWhetherTheyUndo(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		s.exec(raise)
		ways := map[string]func(*postgres.Store) error{
			"a statement": func(store *postgres.Store) error {
				_, err := store.Deduct(t.Context(), one("a", "o"))
				return err
			},
			"a shared statement": func(store *postgres.Store) error {
				store.SetSharing(postgres.ShareAll)
				defer store.SetSharing(postgres.ShareWaiting)
				_, err := joining{store}.Deduct(t.Context(), one("a", "o"))
				return err
			},
			"an order's transaction": func(store *postgres.Store) error {
				p := several("o", "a", "b")
				p.Lines[0].Segment = -1
				_, _, err := store.Order(t.Context(), p)
				return err
			},
		}
		undone := []string{"40001", "40P01", "57014", "53100", "53200", "25006", "42501", "54001", "P0001", "55006"}
		for state, unwritten := range states(undone, "57P01", "57P02", "57P03", "08006", "08P01", "58030", "XX000", "40003") {
			for _, late := range []bool{false, true} {
				s.exec(fmt.Sprintf("TRUNCATE raised; INSERT INTO raised VALUES ('%s', %t)", state, late))
				for way, write := range ways {
					err := write(s.store)
					want := unwritten || way == "an order's transaction" && !late
					if err == nil || errors.Is(err, stock.ErrUnwritten) != want {
						t.Errorf("%s, SQLSTATE %s, in the commit %t: got %v, want that nothing was written: %t", way, state, late, err, want)
					}
				}
			}
		}
	})
}

// states says of each SQLSTATE whether it undoes.
func states(undone []string, others ...string) map[string]bool {
	all := make(map[string]bool)
	for _, state := range undone {
		all[state] = true
	}
	for _, state := range others {
		all[state] = false
	}
	return all
}

// TestNothingIsWrittenWithoutAConnection has every kind of write find no free connection until its deadline, and a server that
// refuses connections. Nothing was written, and the error says so.
func TestNothingIsWrittenWithoutAConnection(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for name, verb := range cutVerbs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				s := openSharers(t, 2)
				var refuses atomic.Bool
				store, err := postgres.Open(t.Context(), s.url, 1, func(c *pgxpool.Config) {
					c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
						if refuses.Load() {
							return nil, syscall.ECONNREFUSED
						}
						return new(net.Dialer).DialContext(ctx, network, address)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := store.Close(); err != nil {
						t.Error(err)
					}
				}()
				release, err := store.HoldConnection(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				if err := verb.write(short, store, "a"); !errors.Is(err, stock.ErrUnwritten) {
					t.Errorf("no connection is free: got %v, want that nothing was written", err)
				}
				refuses.Store(true)
				release()
				if err := verb.write(t.Context(), store, "a"); !errors.Is(err, stock.ErrUnwritten) {
					t.Errorf("the server refuses connections: got %v, want that nothing was written", err)
				}
			})
		})
	}
}
