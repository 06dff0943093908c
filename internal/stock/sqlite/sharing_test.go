package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// sharers are SKUs "0", "1" and so on, and a store whose writer the test holds.
type sharers struct {
	t     *testing.T
	store *Store
}

func openSharers(t *testing.T, skus int) *sharers {
	t.Helper()
	s := &sharers{t: t, store: opened(t)}
	for n := range skus {
		if _, err := s.store.CreateSKU(t.Context(), stock.NewSKU{SKU: fmt.Sprint(n), Stock: 10, Segments: 1}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// told is the result of a write, and the transactions in which it was done.
type told struct {
	err error
	txs []*transaction
}

// write begins a write, and returns when it waits. The test runs in virtual time.
func (s *sharers) write(ctx context.Context, deadline time.Time, size int, work func(*transaction) error) chan told {
	s.t.Helper()
	answer := make(chan told, 1)
	go func() {
		var a told
		a.err = s.store.inShared(ctx, deadline, size, func(tx *transaction) error {
			a.txs = append(a.txs, tx)
			return work(tx)
		})
		answer <- a
	}()
	synctest.Wait()
	return answer
}

// hold keeps all other writes waiting until it is released.
func hold(s *Store) (letGo func()) {
	held, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.inTx(context.Background(), time.Time{}, func(*transaction) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	return func() {
		close(release)
		<-ended
	}
}

// sell takes a unit of a SKU, as a part of a write.
func (s *sharers) sell(sku int) func(*transaction) error {
	return func(tx *transaction) error {
		batch := stock.Batch{SKU: fmt.Sprint(sku), Layout: 1, At: time.Now(), Orders: []stock.Order{{OrderID: "o", Quantity: 1}}}
		_, err := deduct(context.Background(), tx, batch)
		return err
	}
}

// left checks the units left of each SKU, and audits them.
func (s *sharers) left(want ...int64) {
	s.t.Helper()
	for sku, units := range want {
		status, err := s.store.Status(s.t.Context(), fmt.Sprint(sku), time.Time{})
		if err != nil || status.Available != units {
			s.t.Errorf("SKU %d has %d left, %v, want %d", sku, status.Available, err, units)
		}
	}
	if audit, err := s.store.Audit(s.t.Context(), "", nil); err != nil || !audit.OK() {
		s.t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
}

// TestWritesShareATransaction: an error undoes its own write and no other, and a caller that has gone gets no write.
func TestWritesShareATransaction(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 4)
		gone, leave := context.WithCancel(t.Context())
		letGo, failure := hold(s.store), errors.New("failure")
		a := s.write(t.Context(), time.Time{}, 1, s.sell(0))
		b := s.write(t.Context(), time.Time{}, 1, func(tx *transaction) error { return errors.Join(s.sell(1)(tx), failure) })
		c := s.write(t.Context(), time.Now().Add(busytest.Patience), 1, s.sell(2))
		d := s.write(gone, time.Time{}, 1, s.sell(3))
		leave()
		letGo()
		first, failed, third, left := <-a, <-b, <-c, <-d
		if err := errors.Join(first.err, third.err); err != nil || !errors.Is(failed.err, failure) || !errors.Is(left.err, context.Canceled) {
			t.Errorf("%v, %v, %v", err, failed.err, left.err)
		}
		if len(first.txs) != 1 || len(third.txs) != 1 || first.txs[0] != third.txs[0] || first.txs[0] != failed.txs[0] || len(left.txs) > 0 {
			t.Errorf("not one transaction: %v, %v, %v, %v", first.txs, failed.txs, third.txs, left.txs)
		}
		s.left(9, 10, 9, 10)
	})
}

// TestWritesAreCarriedOutInTheirOrder, those that share no transaction too.
func TestWritesAreCarriedOutInTheirOrder(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 1)
		letGo := hold(s.store) // which may wait until the writer has ended
		var served, want []int
		var answers []chan told
		for n := range 64 {
			want = append(want, n)
			answers = append(answers, s.write(t.Context(), time.Time{}, mostShared, func(*transaction) error {
				served = append(served, n)
				return nil
			}))
		}
		letGo()
		for _, answer := range answers {
			if got := <-answer; got.err != nil {
				t.Error(got.err)
			}
		}
		if !slices.Equal(served, want) {
			t.Errorf("served in the order %v, want %v", served, want)
		}
	})
}

// TestACallerDoesNotWaitBeyondItsTime: those behind it get their turn all the same.
func TestACallerDoesNotWaitBeyondItsTime(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 1)
		letGo := hold(s.store)
		limited, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		first := s.write(limited, time.Time{}, mostShared, s.sell(0))
		second := s.write(t.Context(), time.Time{}, mostShared, s.sell(0))
		if got := <-first; !errors.Is(got.err, context.DeadlineExceeded) || !errors.Is(got.err, stock.ErrUnwritten) || len(got.txs) > 0 {
			t.Errorf("got %+v, want that its time has ended", got)
		}
		letGo()
		if got := <-second; got.err != nil {
			t.Errorf("after one has given up: %v", got.err)
		}
		s.left(9)
	})
}

// TestALateWriteCostsOthersATransaction: it writes nothing.
func TestALateWriteCostsOthersATransaction(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		letGo, deadline := hold(s.store), time.Now().Add(200*time.Millisecond)
		a := s.write(t.Context(), time.Time{}, 1, func(tx *transaction) error {
			time.Sleep(time.Until(deadline) + time.Millisecond)
			return s.sell(0)(tx)
		})
		b := s.write(t.Context(), deadline, 1, s.sell(1))
		letGo()
		if first, late := <-a, <-b; first.err != nil || len(first.txs) != 2 || !errors.Is(late.err, stock.ErrLate) {
			t.Errorf("%+v; %+v", first, late)
		}
		s.left(9, 10)
	})
}

// TestASharedTransactionIsBounded: what exceeds the bound goes to the next one.
func TestASharedTransactionIsBounded(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 3)
		letGo := hold(s.store)
		var writes []chan told
		for sku, size := range []int{mostShared - 1, 1, 1} {
			writes = append(writes, s.write(t.Context(), time.Time{}, size, s.sell(sku)))
		}
		letGo()
		a, b, c := <-writes[0], <-writes[1], <-writes[2]
		if err := errors.Join(a.err, b.err, c.err); err != nil || a.txs[0] != b.txs[0] || b.txs[0] == c.txs[0] {
			t.Errorf("%v, %v, %v, %v", err, a.txs, b.txs, c.txs)
		}
		s.left(9, 9, 9)
	})
}

// TestSharersRace sells SKUs to the last unit, while callers leave and restocks come in between.
func TestSharersRace(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	const skus, sellers = 5, 40
	s := openSharers(t, skus)
	var sold [skus]int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range sellers {
		wg.Go(func() {
			sku := n % skus
			for round := range 10 {
				ctx, cancel := context.WithCancel(t.Context())
				if (n+round)%7 == 0 {
					go cancel()
				}
				result, err := s.store.Deduct(ctx, stock.Batch{
					SKU: fmt.Sprint(sku), Layout: 1, Orders: []stock.Order{{OrderID: fmt.Sprint(n, " ", round), Quantity: 1}},
				})
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if err == nil && result.Outcomes[0].Kind == stock.Accepted {
					mu.Lock()
					sold[sku]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for sku, n := range sold {
		if n > 10 {
			t.Errorf("SKU %d: %d orders of 10 units were accepted", sku, n)
		}
	}
	s.left()
}

// TestACallerWhoLeavesIsToldThat: whenever the context ends, while the transaction begins, writes, reads or commits. database/sql and
// the driver have errors of their own for each.
func TestACallerWhoLeavesIsToldThat(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 1)
	for name, call := range map[string]func(ctx context.Context, id string) error{
		"write": func(ctx context.Context, id string) error {
			_, err := s.store.Deduct(ctx, stock.Batch{SKU: "0", Layout: 1, Orders: []stock.Order{{OrderID: id, Quantity: 1}}})
			return err
		},
		"read of one row": func(ctx context.Context, id string) error {
			_, err := s.store.Statuses(ctx, "", 1)
			return err
		},
		"reads of a snapshot": func(ctx context.Context, id string) error {
			_, err := s.store.Status(ctx, "0", time.Time{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range 1000 {
				ctx, cancel := context.WithCancel(t.Context())
				leaving := time.AfterFunc(rand.N(200*time.Microsecond), cancel)
				err := call(ctx, fmt.Sprint(n))
				leaving.Stop()
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
		})
	}
}
