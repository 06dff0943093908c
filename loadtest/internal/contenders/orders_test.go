package contenders

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/reconcile"
	"inventory/loadtest/internal/servers"
)

// TestFilledOrdersAreLikeSoldOnes: ids of the right version, older than new ones, and units that add up.
func TestFilledOrdersAreLikeSoldOnes(t *testing.T) {
	t.Parallel()
	w, databaseURL := newWorld(t)
	connection, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.WithoutCancel(t.Context())) }()
	for sku, c := range map[string]struct {
		fill    string
		version uuid.Version
	}{"random": {fillRandomSQL, 4}, "growing": {fillGrowingSQL, 7}} {
		if err := w.fill(t.Context(), databaseURL, c.fill, sku); err != nil {
			t.Fatal(err)
		}
		now := uuid.Must(uuid.NewV7()).String()
		w.expected.Filled(sku, int64(w.Scale.Orders))
		var first, last string
		query := "SELECT min(order_id), max(order_id) FROM deductions WHERE sku_id = $1"
		if err := connection.QueryRow(t.Context(), query, sku).Scan(&first, &last); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{first, last} {
			id, err := uuid.Parse(text)
			if err != nil || id.Version() != c.version || id.Variant() != uuid.RFC4122 || c.version == 7 && text[:13] > now[:13] {
				t.Errorf("%v: %s is %s of %d, now is %s", err, text, id.Variant(), id.Version(), now)
			}
		}
	}
	sold := experiment.Sample{}
	c := experiment.Result{Rounds: []experiment.Round{{at("buyer", 1): sold}}}
	if err := w.audit(t.Context(), &c, []*entrant{{name: "buyer", callers: 1, skus: []string{"random"}}}); err != nil || c.SKUs != 2 || len(c.Wrong) > 0 || sold[rows] != 0 {
		t.Errorf("%v: %+v", err, c)
	}
}

// newWorld returns one with a database that has two SKUs.
func newWorld(t *testing.T) (w *world, databaseURL string) {
	t.Helper()
	private, err := servers.Open(t.Context(), servers.URLs{})
	if err != nil {
		t.Fatal(err)
	}
	w = &world{Config: Config{Config: experiment.Config{URLs: private.URLs}, Scale: Tiny()}, expected: reconcile.Expected{}}
	w.OnClose(private.Close)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if databaseURL, err = w.postgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	service, err := app.Start(t.Context(), app.Config{DatabaseURL: databaseURL, Lock: app.LockNone})
	if err != nil {
		t.Fatal(err)
	}
	w.OnClose(func() error { return service.Close(context.WithoutCancel(t.Context())) })
	for _, sku := range []string{"random", "growing"} {
		if _, _, err := service.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 10_000, Segments: w.Scale.Segments}); err != nil {
			t.Fatal(err)
		}
	}
	return w, databaseURL
}
