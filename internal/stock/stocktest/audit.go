package stocktest

import (
	"testing"

	"inventory/internal/stock"
)

// damage is what somebody does to the rows by hand, and how the audit's difference shows it.
type damage struct {
	statement, repair string
	difference        int64
}

// testAuditSees damages the rows by hand: an audit that finds everything in order always would find nothing.
func testAuditSees(_ *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, order("a", 1))
	k.merge(nil, order("b", 6))
	k.sees(
		damage{"UPDATE stock_segments SET available = available - 1 WHERE available > 0", "UPDATE stock_segments SET available = available + 1 WHERE available > 0", 1},
		damage{"UPDATE deductions SET quantity = quantity + 2 WHERE order_id = 'a'", "UPDATE deductions SET quantity = quantity - 2 WHERE order_id = 'a'", -2},
		damage{"UPDATE deduction_parts SET quantity = quantity + 1", "UPDATE deduction_parts SET quantity = quantity - 1", 0},
	)
}

// testAuditSeesBuyers damages what is counted with buyers, and an order of several SKUs.
func testAuditSeesBuyers(t *testing.T, k *kit) {
	k.limit = 3
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, by("x", "a", 2), by("y", "b", 3))
	p := placing("o", []stock.Line{{SKU: sku, Quantity: 1}}, []stock.PlacedLine{{Layout: firstLayout, Segment: 1, Limit: 3}})
	p.Order.BuyerID = "z"
	if _, _, err := k.store.Order(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	k.sees(
		damage{"UPDATE buyers SET units = units - 1 WHERE buyer_id = 'x'", "UPDATE buyers SET units = units + 1 WHERE buyer_id = 'x'", 0},
		damage{"UPDATE deductions SET buyer_id = 'w' WHERE order_id = 'a'", "UPDATE deductions SET buyer_id = 'x' WHERE order_id = 'a'", 0},
		damage{"UPDATE skus SET per_buyer_limit = 2", "UPDATE skus SET per_buyer_limit = 3", 0},
		damage{"UPDATE deductions SET order_id = 'lost' WHERE order_id = 'o'", "UPDATE deductions SET order_id = 'o' WHERE order_id = 'lost'", 0},
	)
}

func testAuditOfOne(t *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, order("a", 4), reserved("b", 1, stock.MaxReserve))
	if _, err := k.store.CreateSKU(t.Context(), stock.NewSKU{SKU: "other", Stock: 5, Segments: 1}, at); err != nil {
		t.Fatal(err)
	}
	audit, err := k.store.Audit(t.Context(), sku)
	want := stock.Balance{SKU: sku, Initial: 10, Available: 5, Reserved: 1, Committed: 4}
	if err != nil || len(audit.SKUs) != 1 || !audit.OK() || audit.SKUs[0].Difference() != 0 {
		t.Fatalf("got %+v, %v, want %+v", audit, err, want)
	}
	got := audit.SKUs[0]
	got.Violations = nil
	if got.SKU != want.SKU || got.Available != want.Available || got.Reserved != want.Reserved || got.Committed != want.Committed {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if audit, err := k.store.Audit(t.Context(), ""); err != nil || len(audit.SKUs) != 2 {
		t.Errorf("of all: %+v, %v", audit, err)
	}
	_, err = k.store.Audit(t.Context(), "nope")
	k.code(err, stock.CodeUnknownSKU)
}

// sees checks that the audit sees every damage, and nothing once it is repaired.
func (k *kit) sees(all ...damage) {
	k.Helper()
	k.audit()
	k.damaged = true
	for _, d := range all {
		k.must(d.statement)
		audit, err := k.store.Audit(k.Context(), sku)
		if err != nil || audit.OK() || audit.SKUs[0].Difference() != d.difference {
			k.Errorf("after %s: audit %+v, %v", d.statement, audit, err)
		}
		k.must(d.repair)
		if audit, err := k.store.Audit(k.Context(), ""); err != nil || !audit.OK() {
			k.Fatalf("after %s: audit %+v, %v", d.repair, audit, err)
		}
	}
}

func (k *kit) must(statement string) {
	k.Helper()
	if err := k.exec(k.Context(), statement); err != nil {
		k.Fatalf("%s: %v", statement, err)
	}
}
