package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestAnOrderThatWasRacedDecidesAnew: somebody is faster with the buyer of an order, which begins again, and waits for its row once
// more. It decides by the clock of then.
func TestAnOrderThatWasRacedDecidesAnew(t *testing.T) {
	t.Parallel()
	store, faster := fresh(t, 9)
	holder, err := pgx.ConnectConfig(t.Context(), faster.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(t.Context())
	if _, err := faster.Exec(t.Context(), "BEGIN; INSERT INTO buyers VALUES ('a', 'x', 1, 1)"); err != nil {
		t.Fatal(err)
	}
	p := several("o", "a")
	p.Lines[0].Limit, p.Order.ReserveFor = 1, time.Minute
	got := make(chan placed, 1)
	go func() {
		lines, created, err := store.Order(t.Context(), p)
		got <- placed{lines, created, err}
	}()
	blocking(t, faster)
	held := make(chan error, 1)
	go func() {
		_, err := holder.Exec(t.Context(), "BEGIN; SELECT FROM stock_segments FOR UPDATE; UPDATE buyers SET units = 0")
		held <- err
	}()
	for waiting := false; !waiting; { // until the holder is next
		if err := faster.QueryRow(t.Context(), "SELECT cardinality(pg_blocking_pids($1)) > 0", holder.PgConn().PID()).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := faster.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	blocking(t, holder)
	var then time.Time
	if err := holder.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&then); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	one := <-got
	if one.err != nil || !one.created {
		t.Fatalf("%+v", one)
	}
	if at := one.lines[0].ExpiresAt.Add(-time.Minute); at.Before(then) {
		t.Errorf("it was decided at %v, and waited until %v", at, then)
	}
	if d, err := store.Deduction(t.Context(), "a", "o"); err != nil || !d.ExpiresAt.Equal(one.lines[0].ExpiresAt) || d.ReserveFor != time.Minute {
		t.Errorf("the row is %+v, %v", d, err)
	}
}
