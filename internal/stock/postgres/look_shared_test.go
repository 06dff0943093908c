package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"inventory/internal/stock"
)

// seen is the result of a read.
type seen struct {
	views map[string]stock.View
	err   error
}

// look reads one SKU.
func (s *sharers) look(ctx context.Context, sku string) <-chan seen {
	answer := make(chan seen, 1)
	go func() {
		views, err := s.store.Views(ctx, sku)
		answer <- seen{views, err}
	}()
	return answer
}

// sees waits for a read, and compares it with a read by itself.
func (s *sharers) sees(answer <-chan seen, sku string) map[string]stock.View {
	s.Helper()
	got := soon(s.T, answer)
	if got.err != nil {
		s.Fatal(got.err)
	}
	if alone := s.store.Alone(s.Context(), sku); fmt.Sprint(got.views) != fmt.Sprint(alone) {
		s.Errorf("%q: got %v, want %v", sku, got.views, alone)
	}
	return got.views
}

// TestLooksShareAStatement: reads that wait at the same time share a statement, also several of one SKU, each with its
// own copy of the segments, and one of an unknown SKU.
func TestLooksShareAStatement(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 10)
	s.wants("a", s.soon(s.deduct(t.Context(), one("a", "o"))), stock.Accepted)
	letGo := s.store.HoldLooks()
	skus := []string{"a", "a", "nothing", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	var looks []<-chan seen
	for n, sku := range skus {
		looks = append(looks, s.look(t.Context(), sku))
		s.store.LooksWait(n + 1)
	}
	s.statements.looks.Store(0)
	letGo()
	var all []map[string]stock.View
	for n, sku := range skus {
		all = append(all, s.sees(looks[n], sku))
	}
	if n := s.statements.looks.Load() - int64(len(skus)); n != 1 { // each was compared with a read by itself
		t.Errorf("%d statements looked", n)
	}
	first, second := all[0]["a"].Segments, all[1]["a"].Segments
	if first[0]--; fmt.Sprint(first) == fmt.Sprint(second) {
		t.Error("two looks share their segments")
	}
	if len(all[2]) != 0 {
		t.Errorf("of nothing: %v", all[2])
	}
}

// TestALookJoinsNoneUnderWay: a read that is requested while a statement is under way is answered by the next one,
// which sees everything written meanwhile.
func TestALookJoinsNoneUnderWay(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 2)
	if _, err := s.conn.Exec(t.Context(), `BEGIN; LOCK TABLE skus`); err != nil {
		t.Fatal(err)
	}
	s.statements.looks.Store(0)
	early := s.look(t.Context(), "a")
	s.locksWait(1)
	late, other := s.look(t.Context(), "a"), s.look(t.Context(), "b")
	s.store.LooksWait(2)
	if _, err := s.conn.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	for _, answer := range []<-chan seen{early, late, other} {
		if got := soon(t, answer); got.err != nil || len(got.views) != 1 {
			t.Fatalf("got %+v", got)
		}
	}
	if n := s.statements.looks.Load(); n != 2 {
		t.Errorf("%d statements looked, want one for the first and one for both that came while it was under way", n)
	}
}

// TestALookThatFailsIsTriedAlone: sessions are ended during a shared read. Each read is then done alone.
func TestALookThatFailsIsTriedAlone(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 3)
	if _, err := s.conn.Exec(t.Context(), `BEGIN; LOCK TABLE skus`); err != nil {
		t.Fatal(err)
	}
	a, b := s.look(t.Context(), "a"), s.look(t.Context(), "b")
	s.locksWait(1)
	if _, err := s.conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	s.sees(a, "a")
	s.sees(b, "b")
}

// TestWhoGivesUpALookLeavesOthersTheirs: one of two callers leaves before the shared read begins, and gets its error at
// once.
func TestWhoGivesUpALookLeavesOthersTheirs(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 2)
	letGo := s.store.HoldLooks()
	ctx, cancel := context.WithCancel(t.Context())
	a, b := s.look(ctx, "a"), s.look(t.Context(), "b")
	s.store.LooksWait(2)
	cancel()
	if got := <-a; !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %+v", got)
	}
	letGo()
	s.sees(b, "b")
}
