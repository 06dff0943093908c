package postgres_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

func TestReadyMeansWritable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
