package stocktest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

// testArchive ends the sale of a SKU for good. What was sold and reserved ends as it would have.
func testArchive(t *testing.T, k *kit) {
	_, err := k.store.Archive(t.Context(), sku, at)
	k.code(err, stock.CodeUnknownSKU)
	k.create(20, 3)
	k.moved(restock(sku, "r", 1))
	k.deduct(0, stock.Fence{}, order("a", 1), reserved("b", 2, time.Minute), reserved("c", 2, time.Minute))
	k.merge(nil, reserved("d", 12, time.Minute), order("e", 1))
	before, _, _ := k.soldOut(0)
	for i, want := range []bool{true, false} {
		if archived, err := k.store.Archive(t.Context(), sku, at.Add(time.Duration(i))); archived != want || err != nil {
			t.Fatalf("archive %d: %v, %v", i, archived, err)
		}
	}
	if after, _, _ := k.soldOut(0); after[0] <= before[0] || after[2] <= before[2] {
		t.Errorf("versions: %v, then %v", before, after)
	}
	k.isProfile(stock.Profile{Terms: stock.Terms{ArchivedAt: at}})
	page, err := k.store.Statuses(t.Context(), "", 9)
	if err != nil || len(page) != 1 {
		t.Fatalf("all SKUs: %+v, %v", page, err)
	}
	k.isStatus(page[0])
	for segment := range 3 {
		k.refusesLayout(k.layout, segment)
	}
	for _, m := range []stock.Movement{restock(sku, "s", 5), adjust("s", 1), adjust("s", -1), resegment("s", 2), reterm("s", stock.TermsChange{Name: stock.To("b")})} {
		_, err := k.store.Move(t.Context(), m)
		k.code(err, stock.CodeSKUArchived)
	}
	if created, err := k.store.Move(t.Context(), restock(sku, "r", 1)); created || err != nil {
		t.Errorf("a restock from before, again: %v, %v", created, err)
	}
	_, err = k.store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 20, Segments: 3}, at)
	if k.code(err, stock.CodeSKUExists); !strings.Contains(err.Error(), "is archived") {
		t.Errorf("its name again: %v", err)
	}
	k.settled(at, stock.SettleRequest{OrderID: "b", Quantity: 1}, stock.StatusCommitted, 1, 1)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 1, 1)
	k.settled(at, cancel("c"), stock.StatusCancelled, 2, 2)
	k.expire(at.Add(time.Minute), 1)
	k.balance(at.Add(time.Minute), 19, 0, 2)
}

// testArchivedIsNotSoldOut: that it holds nothing is not why it sells nothing.
func testArchivedIsNotSoldOut(t *testing.T, k *kit) {
	k.create(2, 2)
	k.merge(nil, order("a", 2))
	if _, soldOut, _ := k.soldOut(9); !soldOut {
		t.Error("before: not sold out")
	}
	if _, err := k.store.Archive(t.Context(), sku, at); err != nil {
		t.Fatal(err)
	}
	if _, soldOut, ids := k.soldOut(9); soldOut || ids != nil {
		t.Errorf("archived: sold out %v, to %q", soldOut, ids)
	}
}

// testArchiveRace: an order is sold before, or refused.
func testArchiveRace(t *testing.T, k *kit) {
	const callers = 6
	k.create(100_000, 3)
	var sold atomic.Int64
	var archived atomic.Bool
	group, ctx := errgroup.WithContext(t.Context())
	for caller := range callers {
		group.Go(func() error {
			for n, late := 0, 0; late < 5; n++ {
				after := archived.Load()
				accepted, err := k.orderAsRead(ctx, n%4, order(fmt.Sprintf("%d-%d", caller, n), 1))
				switch {
				case err != nil:
					return err
				case accepted && after:
					return fmt.Errorf("%d-%d was sold when the SKU was archived", caller, n)
				case accepted:
					sold.Add(1)
				case after:
					late++
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		for sold.Load() < 5*callers && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		_, err := k.store.Archive(ctx, sku, at)
		archived.Store(true)
		return err
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	k.balance(at, 100_000-sold.Load(), 0, sold.Load())
}
