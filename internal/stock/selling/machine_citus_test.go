//go:build citus

package selling_test

import (
	"errors"
	"testing"

	"inventory/internal/servertest"
	"inventory/internal/stock/citus"
	"inventory/migrations"
)

// TestCitusMachine is TestMachine on two nodes of Citus, with three processes under locks.
func TestCitusMachine(t *testing.T) {
	c, err := servertest.StartCitus(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	url, _, err := c.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Up(t.Context()), m.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.Distribute(t.Context(), url, 4, false); err != nil {
		t.Fatal(err)
	}
	store, err := citus.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, store)
	w := &world{t: t, store: store, url: url, redis: optionsOf(t, redisServer), clock: newClock()}
	holdsToItsModel(t, w, 3)
}
