package selling_test

import (
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// still is a process whose writer stands still at the start of its next write, until it is released.
type still struct {
	service *selling.Service
	store   *slowStore
	seen    counts
	answer  chan error
}

// standStill starts a process with an order of that many units. It returns when the write stands still, under a lock or
// without one.
func (w *world) standStill(locked bool, units int64) *still {
	w.t.Helper()
	p := &still{
		answer: make(chan error, 1),
		store:  newSlowStore(w.store),
	}
	w.always = locked
	p.service = w.startOn(p.store, p.seen.note)
	go func() {
		_, _, err := p.service.Deduct(w.t.Context(), sku, stock.Order{OrderID: "still", Quantity: units})
		p.answer <- err
	}()
	<-p.store.entered
	return p
}

// letGo lets the write continue, and the further writes that it needs, and returns the buyer's answer.
func (p *still) letGo() stock.Code {
	for {
		select {
		case p.store.proceed <- struct{}{}:
		case <-p.store.entered:
		case err := <-p.answer:
			return stock.CodeOf(err)
		}
	}
}

// other starts a process that writes under a lock or without one, and lets it sell.
func (w *world) other(locked bool, units int64) *selling.Service {
	w.t.Helper()
	seen := &counts{}
	w.always = locked
	s := w.start(seen.note)
	w.deduct(s, "other", units)
	if locked != (seen.locked() > 0) {
		w.t.Fatalf("the other: %d batches under a lock", seen.locked())
	}
	return s
}

// eachStill runs a test on each store, with a SKU of that many units, and checks how many are left.
func eachStill(t *testing.T, units int64, segments int, left int64, test func(w *world)) {
	t.Helper()
	eachStore(t, func(t *testing.T, w *world) {
		w.create(w.start(nil), units, segments)
		test(w)
		if b := w.audit(); b.Available != left {
			t.Errorf("%d units are left, want %d: %+v", b.Available, left, b)
		}
	})
}

// The row decides what a writer that stood still may take, whichever process wrote meanwhile.
var afterStandingStill = map[string]struct {
	units, left int64 // before, and after 5 for the other and 3 for the one that stood still
	want        stock.Code
}{
	"enough is left": {10, 2, ""}, "too little is left": {7, 2, stock.CodeInsufficientStock}, "nothing is left": {5, 0, stock.CodeSoldOut},
}

// TestLocksBeginBesideAStillWriter: a writer without a lock continues after another one has written under the lock. It
// leaves the other's token in the row, so that an older holder stays refused.
func TestLocksBeginBesideAStillWriter(t *testing.T) {
	t.Parallel()
	for name, c := range afterStandingStill {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStill(t, c.units, 1, c.left, func(w *world) {
				p := w.standStill(false, 3)
				w.other(true, 5)
				token := w.token(0)
				if code := p.letGo(); code != c.want || p.seen.locked() > 0 {
					w.t.Errorf("told %q, want %q; %d batches under a lock", code, c.want, p.seen.locked())
				}
				if c.want == "" && w.token(0) != token {
					w.t.Errorf("the token went from %d to %d", token, w.token(0))
				}
			})
		})
	}
}

// TestLocksEndBesideAStillWriter: a writer that holds the lock continues after others stopped taking it. A write
// without a lock raises no fence, so the writer's token passes, and the row decides.
func TestLocksEndBesideAStillWriter(t *testing.T) {
	t.Parallel()
	for name, c := range afterStandingStill {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStill(t, c.units, 1, c.left, func(w *world) {
				p := w.standStill(true, 3)
				w.other(false, 5)
				if code := p.letGo(); code != c.want || p.seen.fencedOut.Load() > 0 {
					w.t.Errorf("told %q, want %q; fenced out %d times", code, c.want, p.seen.fencedOut.Load())
				}
			})
		})
	}
}

// TestAWriteWithoutALockHidesNoFence: the lock of a writer that stands still is lost, the next holder writes, and then
// a writer without a lock does. The first holder's token is refused anyway, and leaves no trace.
func TestAWriteWithoutALockHidesNoFence(t *testing.T) {
	t.Parallel()
	eachStill(t, 20, 1, 11, func(w *world) {
		p := w.standStill(true, 3)
		next := w.takeOver(0)
		w.takeFrom(0, next, stock.Order{OrderID: "next", Quantity: 1})
		w.other(false, 5)
		if code := p.letGo(); code != "" || p.seen.fencedOut.Load() != 1 || p.seen.lockless.Load() != 1 || w.token(0) != next.Token {
			w.t.Errorf("told %q; fenced out %d times, %d batches without a lock, token %d; want 1, 1 and %d",
				code, p.seen.fencedOut.Load(), p.seen.lockless.Load(), w.token(0), next.Token)
		}
	})
}

// TestResegmentBesideAStillWriter: the writer has no lock, so the resegment does not wait for it. The layout refuses
// its write, and it writes to a segment of the new layout.
func TestResegmentBesideAStillWriter(t *testing.T) {
	t.Parallel()
	for name, locked := range map[string]bool{"under a lock that was lost": true, "without a lock": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStill(t, 20, 1, 17, func(w *world) {
				p := w.standStill(locked, 3)
				if locked {
					w.takeOver(0)
				}
				s := w.start(nil)
				m := stock.Movement{Kind: stock.Resegmented, SKU: sku, Ref: "a", Segments: 4, Reason: "test"}
				if _, err := s.Move(w.t.Context(), m); err != nil {
					w.t.Fatal(err)
				}
				if code := p.letGo(); code != "" {
					w.t.Errorf("got code %q, want none", code)
				}
				d, err := s.Deduction(w.t.Context(), sku, "still", "")
				status, again := s.SKU(w.t.Context(), sku)
				if err != nil || again != nil || len(status.Segments) != 4 || len(d.Parts) != 1 {
					w.t.Errorf("%+v, %v; %+v, %v", d, err, status, again)
				}
			})
		})
	}
}
