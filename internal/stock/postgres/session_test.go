package postgres_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/busytest"
	"inventory/internal/stock/postgres"
)

// session opens a connection to the URL with the settings that a store's have.
func session(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	postgres.Settle(config)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestSessionsAreLimited(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		for suffix, want := range map[string]string{
			"": "5s 10s", "&lock_timeout=3s": "5s 3s", "&idle_in_transaction_session_timeout=7s": "7s 10s",
		} {
			conn := session(t, server.URL()+suffix)
			var got string
			err := conn.QueryRow(t.Context(), `SELECT current_setting('idle_in_transaction_session_timeout') || ' ' || current_setting('lock_timeout')`).Scan(&got)
			if err = errors.Join(err, conn.Close(t.Context())); err != nil || got != want {
				t.Errorf("%q: got %q, %v, want %q", suffix, got, err, want)
			}
		}
	})
}

// TestLimitsOfADatabaseDoNotMatter, but those of the URL do. The URL of a test lets transactions wait for two minutes.
func TestLimitsOfADatabaseDoNotMatter(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		url := database(t)
		limits := []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"}
		for _, limit := range limits {
			set(t, url, limit+" = '1min'")
		}
		conn := session(t, url+"&statement_timeout=7s")
		defer conn.Close(t.Context())
		var got []string
		for _, limit := range limits {
			var value string
			if err := conn.QueryRow(t.Context(), `SELECT current_setting($1)`, limit).Scan(&value); err != nil {
				t.Fatal(err)
			}
			got = append(got, value)
		}
		if want := []string{"7s", "10s", "2min", "0"}; !slices.Equal(got, want) {
			t.Errorf("%s are %s, want %s", limits, got, want)
		}
	})
}

// TestAStoppedProcessGivesRowsBack: its transaction never continues, and yet others get the rows that it holds.
func TestAStoppedProcessGivesRowsBack(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		stopped := session(t, server.URL()+"&idle_in_transaction_session_timeout=200ms")
		defer stopped.Close(t.Context())
		other := session(t, server.URL())
		defer other.Close(t.Context())
		const lock = `SELECT pg_advisory_xact_lock(4711)` // ends with the transaction, like the lock of a row
		if _, err := stopped.Exec(t.Context(), "BEGIN; "+lock); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Exec(t.Context(), lock); err != nil {
			t.Errorf("others wait in vain: %v", err)
		}
		_, err := stopped.Exec(t.Context(), "COMMIT")
		var refused *pgconn.PgError
		if err == nil || errors.As(err, &refused) && refused.Code != "25P03" {
			t.Errorf("the stopped one committed late: %v", err)
		}
	})
}
