package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// waitToBeListed makes every line of an order wait for a lock, before the rows of its segments.
const waitToBeListed = `
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
    RETURN NEW;
END $$;
CREATE TRIGGER wait BEFORE INSERT ON order_lines FOR EACH ROW EXECUTE FUNCTION wait()`

// TestAnOrderThatWasRacedDecidesAnew: another process is faster with the buyer of an order, which is tried again, and
// waits once more. It is decided by the clock after the second wait.
func TestAnOrderThatWasRacedDecidesAnew(t *testing.T) {
	t.Parallel()
	waitedUntil, got := raceOrder(t)
	if got.err != nil || !got.created {
		t.Fatalf("created %v, %v", got.created, got.err)
	}
	if at := got.lines[0].ExpiresAt.Add(-time.Minute); at.Before(waitedUntil) {
		t.Errorf("it was decided at %v, and waited until %v", at, waitedUntil)
	}
}

// raceOrder places an order that reserves for a minute, waits for its buyer, is raced, and waits again. It returns the
// end of the reservation.
func raceOrder(t *testing.T) (waitedUntil time.Time, order placed) {
	t.Helper()
	store, faster := fresh(t, 9)
	holder, err := pgx.ConnectConfig(t.Context(), faster.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(t.Context())
	do := func(conn *pgx.Conn, statements string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statements); err != nil {
			t.Fatal(err)
		}
	}
	do(holder, waitToBeListed)
	do(faster, "BEGIN; INSERT INTO buyers VALUES ('a', 'x', 1, 1)")
	p := several("o", "a")
	p.Lines[0].Limit, p.Order.ReserveFor = 1, time.Minute
	got := make(chan placed, 1)
	go func() {
		lines, created, err := store.Order(t.Context(), p)
		got <- placed{lines, created, err}
	}()
	blocking(t, faster, got)
	do(holder, "SELECT pg_advisory_lock(1)")
	do(faster, "COMMIT")
	blocking(t, holder, got)
	do(holder, "UPDATE buyers SET units = 0")
	if err := holder.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&waitedUntil); err != nil {
		t.Fatal(err)
	}
	do(holder, "SELECT pg_advisory_unlock(1)")
	return waitedUntil, <-got
}
