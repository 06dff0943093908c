package postgres_test

import (
	"crypto/rand"
	"errors"
	neturl "net/url"
	"strings"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

func TestReadyMeansWritable(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		for parameter, want := range map[string]error{"": nil, "&default_transaction_read_only=on": stock.ErrNotWritable} {
			store, err := postgres.Open(t.Context(), server.URL()+parameter, 0)
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(store.Ready(t.Context()), store.Close())
			if !errors.Is(err, want) {
				t.Errorf("%q: got %v, want %v", parameter, err, want)
			}
		}
	})
}

// TestReadyMeansThatTheRoleMayWrite: readiness names the right that every write would lack.
func TestReadyMeansThatTheRoleMayWrite(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		_, conn := fresh(t, 9)
		role := "reader_" + strings.ToLower(rand.Text())
		do := func(statement string) {
			t.Helper()
			if _, err := conn.Exec(t.Context(), statement); err != nil {
				t.Fatal(statement, err)
			}
		}
		var name string
		if err := conn.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name); err != nil {
			t.Fatal(err)
		}
		do(`CREATE ROLE ` + role + ` LOGIN`)
		do(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ` + role)
		do(`REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC`)
		url, err := neturl.Parse(server.URL())
		if err != nil {
			t.Fatal(err)
		}
		url.User, url.Path = neturl.User(role), "/"+name
		store, err := postgres.Open(t.Context(), url.String(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Ready(t.Context()); !errors.Is(err, stock.ErrNotWritable) || !strings.Contains(err.Error(), "EXECUTE on inventory_require") {
			t.Errorf("without the right: %v", err)
		}
		do(`GRANT EXECUTE ON FUNCTION inventory_require TO ` + role)
		if err := store.Ready(t.Context()); err != nil {
			t.Errorf("with all rights: %v", err)
		}
		do(`REVOKE INSERT ON deductions FROM ` + role)
		if err := store.Ready(t.Context()); !errors.Is(err, stock.ErrNotWritable) || !strings.Contains(err.Error(), "INSERT on deductions") {
			t.Errorf("without a right to a table: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		do(`DROP OWNED BY ` + role)
		do(`DROP ROLE ` + role)
	})
}
