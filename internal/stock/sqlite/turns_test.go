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
		if err := turns.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		var served, want []int
		for i := range 64 {
			want = append(want, i)
			go func() {
				if err := turns.take(context.Background()); err != nil {
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
			t.Errorf("served in the order %v", served)
		}
		if waits, waited := turns.waits.Load(), time.Duration(turns.waitedNs.Load()); waits != 64 || waited != 64*time.Second {
			t.Errorf("%d waits of %v in all", waits, waited)
		}
	})
}

func TestWriterGivesUpItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		if err := turns.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := turns.take(limited); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waited: %v", err)
		}
		turns.giveBack()
		if err := turns.take(t.Context()); err != nil {
			t.Errorf("after one has given up: %v", err)
		}
		turns.giveBack()
	})
}
