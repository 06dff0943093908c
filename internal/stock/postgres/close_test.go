package postgres_test

import (
	"sync"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/stock/postgres"
)

// TestCallersThatAreLateForClose get an error. A service that could not wait for them has given them up.
func TestCallersThatAreLateForClose(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		store, err := postgres.Open(t.Context(), s.url, 0)
		if err != nil {
			t.Fatal(err)
		}
		var reading sync.WaitGroup
		for n := range 2 {
			reading.Go(func() {
				for {
					if _, err := store.Views(t.Context(), name(n)); err != nil {
						return
					}
				}
			})
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		reading.Wait()
	})
}
