package selling_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// ahead is a token that a Redis whose clock is an hour ahead would give now.
func ahead() int64 { return time.Now().Add(time.Hour).UnixMicro() }

// raise sells one unit of each segment under a token, like another holder.
func (w *world) raise(token int64, segments int) {
	w.t.Helper()
	for segment := range segments {
		w.takeFrom(segment, stock.Fence{Token: token, Owner: "another"}, stock.Order{OrderID: fmt.Sprint("raise-", token, "-", segment), Quantity: 1})
	}
}

// takeFrom lets another process sell from a segment of the first layout.
func (w *world) takeFrom(segment int, fence stock.Fence, o stock.Order) {
	w.t.Helper()
	batch := stock.Batch{SKU: sku, Layout: 1, Segment: segment, Fence: fence, Orders: []stock.Order{o}}
	if _, err := w.store.Deduct(w.t.Context(), batch); err != nil {
		w.t.Fatal(err)
	}
}

// token returns the token that a segment's row has: a write with an old token gets it in the error.
func (w *world) token(segment int) int64 {
	w.t.Helper()
	_, err := w.store.Deduct(w.t.Context(), stock.Batch{
		SKU: sku, Layout: 1, Segment: segment, Fence: stock.Fence{Token: 1, Owner: "late"},
		Orders: []stock.Order{{OrderID: "late", Quantity: 1}},
	})
	refused, is := errors.AsType[*stock.FencedError](err)
	if !is {
		w.t.Fatalf("token 1: %v, want a FencedError", err)
	}
	return refused.Tokens[segment]
}

// TestFenceFromTheFutureIsHealed: the rows have tokens that Redis would give only in an hour. The first batch requests
// one above them, and afterwards everything is as usual.
func TestFenceFromTheFutureIsHealed(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		w.always = true
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 1000, 1)
		token := ahead()
		w.raise(token, 1)
		for n := range 5 {
			w.deduct(s, fmt.Sprint(n), 1)
			if seen.lockless.Load() > 0 {
				t.Fatalf("batch %d was written without a lock", n)
			}
			now := w.token(0)
			if now <= token && n == 0 || now < token {
				t.Fatalf("batch %d: the token went from %d to %d", n, token, now)
			}
			token = now
		}
		if seen.fencedOut.Load() != 1 {
			t.Errorf("fenced out %d times, want 1", seen.fencedOut.Load())
		}
		// The next holder's tokens are above the healed one.
		other := &counts{}
		w.deduct(w.start(other.note), "other", 1)
		if other.lockless.Load()+other.fencedOut.Load() > 0 || w.token(0) <= token {
			t.Errorf("the next holder: %d batches without a lock, fenced out %d times, token %d after %d",
				other.lockless.Load(), other.fencedOut.Load(), w.token(0), token)
		}
	})
}

func TestMergeIsHealed(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		w.always = true
		seen := &counts{}
		s := w.start(seen.note)
		w.create(s, 44, 4)
		token := ahead()
		w.raise(token, 4)
		w.deduct(s, "large", 25)
		if seen.mergesLocked.Load() != 1 || seen.fencedOut.Load() != 1 {
			t.Errorf("%d merges under locks, fenced out %d times; want 1 and 1", seen.mergesLocked.Load(), seen.fencedOut.Load())
		}
		d, err := s.Deduction(t.Context(), sku, "large", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range d.Parts {
			if now := w.token(part.Segment); now <= token {
				t.Errorf("segment %d: token %d after %d", part.Segment, now, token)
			}
		}
	})
}

// TestLateHolderDoesNotHeal: a worker trusts its lock when its batch starts. It does not know yet that the lock was
// taken from it, and that the next holder has written.
func TestLateHolderDoesNotHeal(t *testing.T) {
	eachStore(t, func(t *testing.T, w *world) {
		w.always = true
		seen := &counts{}
		slow := &slowStore{Store: w.store, entered: make(chan struct{}), proceed: make(chan struct{})}
		s := w.startOn(slow, seen.note)
		w.create(s, 1000, 1)
		answer := make(chan error, 1)
		go func() {
			_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "late", Quantity: 1})
			answer <- err
		}()
		<-slow.entered
		next := w.takeOver(0)
		w.takeFrom(0, next, stock.Order{OrderID: "next", Quantity: 1})
		slow.proceed <- struct{}{} // refused
		<-slow.entered
		slow.proceed <- struct{}{} // under the guard alone
		if err := <-answer; err != nil {
			t.Error(err)
		}
		if seen.fencedOut.Load() != 1 || seen.lockless.Load() != 1 || w.token(0) != next.Token {
			t.Errorf("fenced out %d times, %d batches without a lock, token %d; want 1, 1 and %d",
				seen.fencedOut.Load(), seen.lockless.Load(), w.token(0), next.Token)
		}
	})
}

// takeOver frees the lock of a segment, as the end of a lease would, and takes it until the test ends.
func (w *world) takeOver(segment int) stock.Fence {
	w.t.Helper()
	lock := w.lock(w.locks(), sku, segment)
	freed, err := lock.(*locking.Mutex).ForceUnlock(w.t.Context())
	if err != nil || !freed {
		w.t.Fatalf("freed %t, %v, want true", freed, err)
	}
	hold, err := lock.Lock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := hold.Unlock(context.WithoutCancel(w.t.Context())); err != nil {
			w.t.Error(err)
		}
	})
	return stock.Fence{Token: hold.Token(), Owner: hold.Owner()}
}
