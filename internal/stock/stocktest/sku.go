package stocktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

func newRand(a, b uint64) *rand.Rand { return rand.New(rand.NewPCG(a, b)) }

func testCreate(t *testing.T, k *kit) {
	same := stock.NewSKU{SKU: sku, Name: "Größe M", Stock: 7, Segments: 3}
	for i, want := range []bool{true, false} {
		created, err := k.store.CreateSKU(t.Context(), same, at)
		if err != nil || created != want {
			t.Fatalf("create %d: got %v, %v", i, created, err)
		}
	}
	for _, other := range []stock.NewSKU{
		{SKU: sku, Name: "Größe M", Stock: 8, Segments: 3},
		{SKU: sku, Name: "Größe M", Stock: 7, Segments: 4},
		{SKU: sku, Name: "Größe L", Stock: 7, Segments: 3},
	} {
		_, err := k.store.CreateSKU(t.Context(), other, at)
		k.code(err, stock.CodeSKUExists)
	}
	_, err := k.store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Name: "Größe M", Stock: 8, Segments: 3, Terms: stock.Terms{MaxQuantity: 2}}, at)
	if err == nil || !strings.HasSuffix(err.Error(), `exists with another stock, max_quantity`) {
		t.Errorf("a SKU that differs: got %v", err)
	}
	k.segments(3, 2, 2)
	status, err := k.store.Status(t.Context(), sku, at)
	if err != nil || fmt.Sprint(status) != fmt.Sprint(stock.Status{
		SKU: sku, Name: "Größe M", Stock: 7, Layout: firstLayout, Available: 7, Segments: []int64{3, 2, 2},
	}) {
		t.Fatalf("status: got %+v, %v", status, err)
	}
	// After a sale it is still the same SKU.
	k.deduct(0, stock.Fence{}, order("a", 1))
	if created, err := k.store.CreateSKU(t.Context(), same, at); created || err != nil {
		t.Fatalf("create after a sale: got %v, %v", created, err)
	}
}

// testCreateAfterItsSale creates a SKU whose sale is over. A SKU that is there is still found when its sale is over.
func testCreateAfterItsSale(t *testing.T, k *kit) {
	sale := stock.NewSKU{SKU: sku, Stock: 1, Segments: 1, Terms: stock.Terms{SaleEndsAt: at}}
	_, err := k.store.CreateSKU(t.Context(), sale, at)
	k.code(err, stock.CodeInvalidRequest)
	if _, err := k.store.Status(t.Context(), sku, at); stock.CodeOf(err) != stock.CodeUnknownSKU {
		t.Errorf("the SKU is there: %v", err)
	}
	for i, when := range []time.Time{at.Add(-time.Microsecond), at.Add(time.Hour)} {
		if created, err := k.store.CreateSKU(t.Context(), sale, when); err != nil || created != (i == 0) {
			t.Errorf("at %v: got %v, %v", when, created, err)
		}
	}
}

func testUnknownSKU(t *testing.T, k *kit) {
	ctx := t.Context()
	_, err := k.store.Status(ctx, "nope", at)
	k.code(err, stock.CodeUnknownSKU)
	if views, err := k.store.Views(ctx, "nope"); err != nil || len(views) != 0 {
		t.Errorf("look: got %+v, %v", views, err)
	}
	_, err = k.store.Deduct(ctx, stock.Batch{SKU: "nope", At: at, Orders: orders("a", 1)})
	k.code(err, stock.CodeUnknownSKU)
	_, err = k.store.Merge(ctx, stock.Batch{SKU: "nope", At: at, Orders: orders("a", 1)})
	k.code(err, stock.CodeUnknownSKU)
	_, err = k.store.Deduction(ctx, "nope", "a")
	k.code(err, stock.CodeUnknownSKU)
	_, err = k.store.Move(ctx, restock("nope", "r", 1))
	k.code(err, stock.CodeUnknownSKU)
	k.create(1, 1)
	_, err = k.store.Deduct(ctx, k.batch(5, stock.Fence{}, orders("a", 1)...))
	if !errors.Is(err, stock.ErrLayout) {
		t.Errorf("a segment that is not there: got %v, want ErrLayout", err)
	}
}

func testRestock(t *testing.T, k *kit) {
	k.create(0, 3)
	delivery := stock.Movement{SKU: sku, Ref: "delivery", Kind: stock.Restocked, Quantity: 8, Reason: "van", At: at}
	for i, want := range []bool{true, false} {
		created, err := k.store.Move(t.Context(), delivery)
		if err != nil || created != want {
			t.Fatalf("restock %d: got %v, %v", i, created, err)
		}
	}
	k.segments(3, 3, 2)
	for _, other := range []stock.Movement{
		{SKU: sku, Ref: "delivery", Kind: stock.Restocked, Quantity: 9, Reason: "van", At: at},
		{SKU: sku, Ref: "delivery", Kind: stock.Restocked, Quantity: 8, Reason: "lorry", At: at},
	} {
		_, err := k.store.Move(t.Context(), other)
		k.code(err, stock.CodeRefReused)
	}
	k.segments(3, 3, 2)
	k.deduct(1, stock.Fence{}, order("a", 3))
	status, err := k.store.Status(t.Context(), sku, at)
	if err != nil || status.Stock != 8 || status.Available != 5 || status.Committed != 3 {
		t.Fatalf("status: got %+v, %v", status, err)
	}
}

func restock(sku, ref string, units int64) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Restocked, Quantity: units, At: at}
}

func testRestockRace(t *testing.T, k *kit) {
	const restocks, sellers = 20, 4
	k.create(10, 3)
	var accepted atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	group.Go(func() error {
		for n := range restocks {
			// Each one twice, as a caller does who got no answer.
			for range 2 {
				if _, err := k.store.Move(ctx, restock(sku, fmt.Sprint(n), 5)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for seller := range sellers {
		group.Go(func() error { return k.sellAlong(ctx, seller, restocks, &accepted) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	k.sold(accepted.Load())
	status, err := k.store.Status(t.Context(), sku, at)
	if err != nil || status.Stock != 10+5*restocks {
		t.Fatalf("status: got %+v, %v", status, err)
	}
}

func (k *kit) sellAlong(ctx context.Context, seller, times int, accepted *atomic.Int64) error {
	for n := range times {
		list := []stock.Order{order(fmt.Sprintf("s%d-%d", seller, n), 3)}
		var outcomes []stock.Outcome
		if n%2 == 0 {
			result, err := k.store.Deduct(ctx, k.batch(n%3, stock.Fence{}, list...))
			if err != nil {
				return err
			}
			outcomes = result.Outcomes
		} else {
			result, err := k.store.Merge(ctx, k.merging(nil, list...))
			if err != nil {
				return err
			}
			outcomes = result.Outcomes
		}
		if outcomes[0].Kind == stock.Accepted {
			accepted.Add(3)
		}
	}
	return nil
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
