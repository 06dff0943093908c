package postgres_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// answersLate is a connection on which time passes after each message, before its answer can be read.
type answersLate struct {
	net.Conn
	by time.Duration
}

// Write implements [net.Conn].
func (c answersLate) Write(message []byte) (int, error) {
	n, err := c.Conn.Write(message)
	time.Sleep(c.by)
	return n, err
}

// TestACallerInAHurryCostsNoConnection: callers may have milliseconds, or hang up. Their statements go on for a moment, because to
// interrupt one costs the connection, and PostgreSQL a process for the next. In virtual time the answer comes in that moment.
func TestACallerInAHurryCostsNoConnection(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		const answer = 5 * time.Millisecond
		url := database(t)
		store, err := postgres.Open(t.Context(), url, 1, func(c *pgxpool.Config) {
			c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return answersLate{conn, answer}, err
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
		if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Segments: 2}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		beside := session(t, url)
		defer beside.Close(t.Context())
		process := func() (pid int) {
			t.Helper()
			err := beside.QueryRow(t.Context(), `SELECT coalesce((SELECT pid FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
				ORDER BY backend_start DESC LIMIT 1), 0)`).Scan(&pid)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		before := process()
		for within := time.Millisecond; within < 4*answer; within += time.Millisecond { // in each of some messages
			for name, leaves := range map[string]func() (context.Context, context.CancelFunc){
				"has no more time": func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), within) },
				"hangs up": func() (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(within, cancel)
					return ctx, cancel
				},
			} {
				for what, call := range map[string]func(ctx context.Context) error{
					"a read": func(ctx context.Context) error {
						_, err := store.Views(ctx, "a")
						return err
					},
					"a write": func(ctx context.Context) error {
						_, err := store.Move(ctx, stock.Movement{SKU: "a", Kind: stock.Restocked, Ref: fmt.Sprint(name, within), Quantity: 1})
						return err
					},
				} {
					ctx, cancel := leaves()
					err := call(ctx)
					cancel()
					if after := process(); after != before {
						t.Fatalf("a caller of %s that %s after %s ended the connection: %v", what, name, within, err)
					}
				}
			}
		}
		if audit, err := store.Audit(t.Context(), "a", nil); err != nil || !audit.OK() {
			t.Errorf("got %+v, %v, want an audit that is OK", audit, err)
		}
	})
}
