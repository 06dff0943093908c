package migrations_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/sqlite"
	"inventory/migrations"
)

// undoable is a database whose steps are undone.
type undoable struct {
	t        *testing.T
	migrator func() (*migrations.Migrator, error)
	store    func() (stock.Store, error)
}

// TestEveryStepGoesDownAndUp undoes the newest step, the two newest, and so on, each time after another day of a shop. After going
// up again every unit is where it was, what was reserved ends, and what was sold is sold on. The base schema stays: it has SKUs.
func TestEveryStepGoesDownAndUp(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	onBoth(t, func(u undoable) {
		steps := u.up()
		for i, step := range slices.Backward(steps[1:]) {
			u.t.Run("down to "+step.Name, func(t *testing.T) { u.in(t).round(len(steps)-i, step) })
		}
		u.refusesToLose()
	})
}

// TestAnEmptyDatabaseGoesDown: without SKUs nothing is left, and the base schema can be made again.
func TestAnEmptyDatabaseGoesDown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(u undoable) {
		for range 2 {
			steps := u.up()
			undo(u.t, u.open(), steps[0].Name)
		}
	})
}

// onBoth runs a test on an empty database of each kind.
func onBoth(t *testing.T, test func(undoable)) {
	t.Helper()
	url, file := database(t), filepath.Join(t.TempDir(), "inventory.db")
	for name, u := range map[string]undoable{
		"postgres": {
			migrator: func() (*migrations.Migrator, error) { return migrations.OpenPostgres(url) },
			store:    func() (stock.Store, error) { return postgres.Open(t.Context(), url, 2, patient) },
		},
		"sqlite": {
			migrator: func() (*migrations.Migrator, error) { return migrations.OpenSQLite(file) },
			store:    func() (stock.Store, error) { return sqlite.Open(t.Context(), file) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(u.in(t))
		})
	}
}

// patient gives connections more time than a service does.
func patient(c *pgxpool.Config) {
	c.ConnConfig.ConnectTimeout, c.PingTimeout = busytest.Patience, busytest.Patience
}

func (u undoable) in(t *testing.T) undoable {
	u.t = t
	return u
}

// up brings the database up to date, and returns its steps.
func (u undoable) up() []migrations.Step {
	u.t.Helper()
	m := u.open()
	if err := m.Up(u.t.Context()); err != nil {
		u.t.Fatal(err)
	}
	status, err := m.Status(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		u.t.Fatal(err)
	}
	return status.Steps
}

func (u undoable) open() *migrations.Migrator {
	u.t.Helper()
	m, err := u.migrator()
	if err != nil {
		u.t.Fatal(err)
	}
	return m
}

// refusesToLose: the base schema is not undone as long as there are SKUs.
func (u undoable) refusesToLose() {
	u.t.Helper()
	m := u.open()
	var refused error
	for range u.up() {
		refused = m.Down(u.t.Context())
	}
	if refused == nil || !strings.Contains(refused.Error(), "there are SKUs") {
		u.t.Errorf("the base schema was undone: %v", refused)
	}
	if err := m.Close(); err != nil {
		u.t.Error(err)
	}
	u.up()
	u.with(func(store stock.Store) { u.balances(store) })
}

// with runs work on the store.
func (u undoable) with(work func(stock.Store)) {
	u.t.Helper()
	store, err := u.store()
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			u.t.Error(err)
		}
	}()
	work(store)
}

// round plays a day, undoes the steps down to the named one, and makes them again.
func (u undoable) round(n int, step migrations.Step) {
	u.t.Helper()
	var before map[string]stock.Balance
	u.with(func(store stock.Store) {
		day{u.t, store, n}.play()
		before = u.balances(store)
	})
	undo(u.t, u.open(), step.Name)
	u.up()
	u.with(func(store stock.Store) {
		after := u.balances(store)
		for sku, b := range before {
			if got := after[sku]; got.Available != b.Available {
				u.t.Errorf("%s has %d units, and had %d", sku, got.Available, b.Available)
			}
		}
		u.countsAsTheAudit(store, after)
		d := day{u.t, store, n}
		for _, sku := range []string{"plain", "limited"} {
			if id := fmt.Sprint("again ", n); !d.buys(d.sku(sku), id) {
				u.t.Errorf("%s is not sold any more", d.sku(sku))
			}
		}
		if d.buys(d.sku("gone"), "again") {
			u.t.Errorf("%s is sold again", d.sku("gone"))
		}
		u.expireAll(store, slices.Sorted(maps.Keys(before)))
	})
}

// balances audits, and returns the balance of each SKU.
func (u undoable) balances(store stock.Store) map[string]stock.Balance {
	u.t.Helper()
	audit, err := store.Audit(u.t.Context(), "", nil)
	if err != nil {
		u.t.Fatal(err)
	}
	all := make(map[string]stock.Balance)
	for _, b := range audit.SKUs {
		if all[b.SKU] = b; !b.OK() {
			u.t.Errorf("audit: %+v", b)
		}
	}
	return all
}

// countsAsTheAudit holds what a SKU's page tells to what the rows are.
func (u undoable) countsAsTheAudit(store stock.Store, balances map[string]stock.Balance) {
	u.t.Helper()
	for sku, b := range balances {
		status, err := store.Status(u.t.Context(), sku, dayAt)
		if err != nil || status.Available != b.Available || status.Reserved != b.Reserved || status.Committed != b.Committed {
			u.t.Errorf("%s tells %+v, %v; the audit %+v", sku, status, err, b)
		}
	}
}

// expireAll ends all that is reserved: nothing may be reserved for ever.
func (u undoable) expireAll(store stock.Store, skus []string) {
	u.t.Helper()
	for _, sku := range skus {
		if _, err := store.Expire(u.t.Context(), sku, dayAt.Add(100*24*time.Hour)); err != nil {
			u.t.Fatal(err)
		}
	}
	for sku, b := range u.balances(store) {
		if b.Reserved > 0 {
			u.t.Errorf("%s has %d units reserved for ever", sku, b.Reserved)
		}
	}
}

// undo undoes the steps down to the named one, including it, and closes the migrator.
func undo(t *testing.T, m *migrations.Migrator, name string) {
	t.Helper()
	for applied := true; applied; {
		if err := m.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		status, err := m.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range status.Steps {
			if step.Name == name {
				applied = step.Applied
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}
