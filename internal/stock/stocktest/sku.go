package stocktest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

func testCreate(t *testing.T, k *kit) {
	same := stock.NewSKU{SKU: sku, Name: "Größe M", Stock: 7, Segments: 3}
	creates := func(n stock.NewSKU, when time.Time, want bool) {
		t.Helper()
		for range 2 { // to try it changes nothing
			if created, err := k.store.TryCreateSKU(t.Context(), n, when); err != nil || created != want {
				t.Fatalf("try to create at %v: got %v, %v, want %v", when, created, err, want)
			}
		}
		if created, err := k.store.CreateSKU(t.Context(), n, when); err != nil || created != want {
			t.Fatalf("create at %v: got %v, %v, want %v", when, created, err, want)
		}
	}
	creates(same, at, true)
	creates(same, at, false)
	for _, other := range []stock.NewSKU{
		{SKU: sku, Name: "Größe M", Stock: 8, Segments: 3},
		{SKU: sku, Name: "Größe M", Stock: 7, Segments: 4},
		{SKU: sku, Name: "Größe L", Stock: 7, Segments: 3},
		{SKU: sku, Name: "Größe M", Stock: 7, Segments: 3, Terms: stock.Terms{MaxQuantity: 2}},
	} {
		_, err := k.store.CreateSKU(t.Context(), other, at)
		k.code(err, stock.CodeSKUExists)
		_, tried := k.store.TryCreateSKU(t.Context(), other, at)
		k.equal("tried", tried, err)
	}
	k.segments(3, 2, 2)
	k.equal("status", k.status(sku, at), stock.Status{
		SKU: sku, Name: "Größe M", Stock: 7, Layout: firstLayout, Available: 7, Segments: []int64{3, 2, 2},
	})
	// After a sale it is still the same SKU.
	k.deduct(0, stock.Fence{}, order("a", 1))
	creates(same, at, false)
	// A SKU is not created when its sale is over; one that is there is still found then.
	sale := stock.NewSKU{SKU: "sale", Stock: 1, Segments: 1, Terms: stock.Terms{SaleEndsAt: at}}
	_, err := k.store.CreateSKU(t.Context(), sale, at)
	k.code(err, stock.CodeInvalidRequest)
	_, err = k.store.TryCreateSKU(t.Context(), sale, at)
	k.code(err, stock.CodeInvalidRequest)
	_, err = k.store.Status(t.Context(), "sale", at)
	k.code(err, stock.CodeUnknownSKU)
	creates(sale, at.Add(-time.Microsecond), true)
	creates(sale, at.Add(time.Hour), false)
}

func testUnknownSKU(t *testing.T, k *kit) {
	ctx := t.Context()
	_, err := k.store.Status(ctx, "nope", at)
	k.code(err, stock.CodeUnknownSKU)
	if views, err := k.store.Views(ctx, "nope"); err != nil || len(views) != 0 {
		t.Errorf("look: got %+v, %v", views, err)
	}
	_, err = k.store.Deduction(ctx, "nope", "a")
	k.code(err, stock.CodeUnknownSKU)
	k.create(1, 1)
	for _, way := range ways() {
		b := k.batch(0, stock.Fence{}, order("a", 1))
		b.SKU = "nope"
		_, err := way.takeFirst(k, ctx, b)
		k.code(err, stock.CodeUnknownSKU)
		if b.SKU, b.Segment = sku, 5; !way.anywhere {
			if _, err := way.takeFirst(k, ctx, b); !errors.Is(err, stock.ErrLayout) {
				t.Errorf("%s, a segment that is not there: got %v, want ErrLayout", way.name, err)
			}
		}
	}
}

// testGuard writes past the store: the constraints are there even if every line of Go were wrong.
func testGuard(t *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, order("a", 1))
	for _, statement := range []string{
		"UPDATE stock_segments SET available = -1 WHERE segment = 0",
		"INSERT INTO deductions (sku_id, order_id, quantity, status, created_at) SELECT sku_id, order_id, quantity, status, created_at FROM deductions",
		"UPDATE deductions SET quantity = 0",
		"UPDATE deductions SET status = 'paid'",
		"INSERT INTO stock_segments (sku_id, segment, available) VALUES ('nope', 0, 1)",
		"INSERT INTO stock_segments (sku_id, segment, available) VALUES ('sku-1', 0, 1)",
		"UPDATE skus SET initial = -1",
	} {
		if err := k.exec(t.Context(), statement); err == nil {
			t.Errorf("not refused: %s", statement)
		}
	}
}

// archive archives SKUs.
func (k *kit) archive(skus ...string) {
	k.t.Helper()
	for _, sku := range skus {
		if archived, err := k.store.Archive(k.t.Context(), sku, at); err != nil || !archived {
			k.t.Fatalf("archive %s: %v, %v", sku, archived, err)
		}
	}
}

// testArchive ends the sale of a SKU for good. Its orders and reservations end as usual.
func testArchive(t *testing.T, k *kit) {
	_, err := k.store.Archive(t.Context(), sku, at)
	k.code(err, stock.CodeUnknownSKU)
	k.create(17, 3)
	k.moved(restock(sku, "r", 1))
	k.deduct(0, stock.Fence{}, order("a", 1), reserved("b", 2, time.Minute), reserved("c", 2, time.Minute))
	k.merge(nil, reserved("d", 12, time.Minute), order("e", 1))
	before, soldOut, _ := k.soldOut(0)
	k.equal("sold out", soldOut, true)
	k.archive(sku)
	if archived, err := k.store.Archive(t.Context(), sku, at.Add(time.Second)); archived || err != nil {
		t.Fatalf("archive again: %v, %v", archived, err)
	}
	if after, soldOut, ids := k.soldOut(9); after[0] <= before[0] || after[2] <= before[2] || soldOut || ids != nil {
		t.Errorf("versions: %v, then %v; sold out %v, to %q, though it is archived", before, after, soldOut, ids)
	}
	k.isProfile(stock.Profile{Terms: stock.Terms{ArchivedAt: at}})
	page, err := k.store.Statuses(t.Context(), "", 9)
	if err != nil || len(page) != 1 {
		t.Fatalf("all SKUs: %+v, %v", page, err)
	}
	k.equal("in the list", page[0], k.status(sku, time.Time{}))
	for segment := range 3 {
		k.refusesLayout(k.layout, segment)
	}
	k.refusesMove(stock.CodeSKUArchived, restock(sku, "s", 5), adjust("s", 1), adjust("s", -1), resegment("s", 2),
		reterm("s", stock.TermsChange{Name: stock.To("b")}))
	k.moves(restock(sku, "r", 1), false) // from before
	_, err = k.store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 17, Segments: 3}, at)
	if k.code(err, stock.CodeSKUExists); !strings.Contains(err.Error(), "is archived") {
		t.Errorf("its name again: %v", err)
	}
	k.settled(at, commitOf("b", 1), stock.StatusCommitted, 1, 1)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 1, 1)
	k.settled(at, cancel("c"), stock.StatusCancelled, 2, 2)
	k.expire(at.Add(time.Minute), 1)
	k.balance(at.Add(time.Minute), 16, 0, 2)
}
