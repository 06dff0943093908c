package afternoon

import (
	"context"
	"testing"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// TestOrdersAreSoldOnceOrNotAtAll in both ways: whole, by id, and never more than there is.
func TestOrdersAreSoldOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	private, err := servers.Open(t.Context(), servers.URLs{}, servers.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := private.Close(); err != nil {
			t.Error(err)
		}
	}()
	shop, err := Open(t.Context(), private.DatabaseURL, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer shop.Close()
	for way, sell := range map[string]func(context.Context, string, []Line) (load.Outcome, error){"steps": shop.Sell, "once": shop.SellAtOnce} {
		much, few := way+"-much", way+"-few"
		for sku, units := range map[string]int{much: 10, few: 2} {
			if _, err := shop.db.Exec(t.Context(), putSQL, sku, units); err != nil {
				t.Fatal(err)
			}
		}
		both := []Line{{SKU: much, Quantity: 1}, {SKU: few, Quantity: 1}}
		for i, c := range []struct {
			id    string
			lines []Line
			want  load.Outcome
		}{
			{"a", both, load.Accepted},
			{"a", both, load.Replayed},
			{"a", both[:1], load.Replayed},
			{"b", []Line{{SKU: much, Quantity: 9}, {SKU: few, Quantity: 2}}, load.Refused},
			{"c", both, load.Accepted},
			{"d", both, load.Refused},
			{"a", both, load.Replayed},
			{"e", []Line{{SKU: much, Quantity: 1}, {SKU: way + "-unknown", Quantity: 1}}, load.Refused},
		} {
			if got, err := sell(t.Context(), way+c.id, c.lines); err != nil || got != c.want {
				t.Errorf("%s: order %d: %v, %v, want %v", way, i, got, err, c.want)
			}
		}
	}
	audit, err := Audit(t.Context(), private.DatabaseURL)
	if err != nil || !audit.OK() || len(audit.SKUs) != 4 {
		t.Errorf("%+v, %v", audit, err)
	}
	for _, b := range audit.SKUs {
		if b.Committed != 2 {
			t.Errorf("%s: %d units were sold, want 2", b.SKU, b.Committed)
		}
	}
}
