package sqlite

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestWritersTakeTurnsInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		if _, err := turns.take(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		var served, want []int
		for i := range 64 {
			want = append(want, i)
			go func() {
				if _, err := turns.take(context.Background(), nil); err != nil {
					t.Error(err)
				}
				served = append(served, i)
				turns.giveBack()
			}()
			synctest.Wait() // until it waits for its turn
		}
		time.Sleep(time.Second)
		turns.giveBack()
		synctest.Wait()
		if !slices.Equal(served, want) {
			t.Errorf("served in the order %v, want %v", served, want)
		}
		if waits, waited := turns.waits.Load(), time.Duration(turns.waitedNs.Load()); waits != 64 || waited != 64*time.Second {
			t.Errorf("got %d waits of %v in all, want 64 of %v", waits, waited, 64*time.Second)
		}
	})
}

func TestWriterGivesUpItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		if _, err := turns.take(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := turns.take(limited, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that its time has ended", err)
		}
		turns.giveBack()
		if _, err := turns.take(t.Context(), nil); err != nil {
			t.Errorf("after one has given up: got %v, want a turn", err)
		}
		turns.giveBack()
	})
}
