package stocktest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
)

// archive archives SKUs.
func (k *kit) archive(skus ...string) {
	k.Helper()
	for _, sku := range skus {
		if archived, err := k.store.Archive(k.Context(), sku, at); err != nil || !archived {
			k.Fatalf("archive %s: %v, %v", sku, archived, err)
		}
	}
}

// prunes folds those of the order ids that may go, and checks how many that are and what they hold. The audit finds the same
// before, after a dry run and afterwards.
func (k *kit) prunes(sku string, before time.Time, deductions, units int64, ids ...string) {
	k.Helper()
	want := fmt.Sprintf("%+v", stock.Pruned{Deductions: deductions, Units: units})
	balance := k.audited()
	for _, dry := range []bool{true, false} {
		got, err := k.store.Prune(k.Context(), stock.Pruning{SKU: sku, OrderIDs: ids, Before: before, DryRun: dry})
		if err != nil {
			k.Fatal(err)
		}
		k.equal(fmt.Sprintf("pruned of %s, dry run %v", sku, dry), fmt.Sprintf("%+v", got), want)
		k.equal("audit", k.audited(), balance)
	}
	again, err := k.store.Prune(k.Context(), stock.Pruning{SKU: sku, OrderIDs: ids, Before: before})
	k.equal("pruned again", fmt.Sprint(again, err), fmt.Sprint(stock.Pruned{}, nil))
}

func (k *kit) audited() string {
	k.Helper()
	audit, err := k.store.Audit(k.Context(), "")
	if err != nil || !audit.OK() {
		k.Fatalf("audit: %+v, %v", audit, err)
	}
	return fmt.Sprintf("%+v", audit)
}

// testPrune folds what has ended and is old, and leaves all else.
func testPrune(t *testing.T, k *kit) {
	k.limit = 12
	k.create(33, 3)
	bought := func(buyer, id string, units int64, reserve time.Duration) stock.Order {
		o := by(buyer, id, units)
		o.ReserveFor = reserve
		return o
	}
	k.deduct(0, stock.Fence{}, by("x", "sold", 2), bought("x", "cancelled", 1, time.Millisecond), bought("x", "reserved", 1, time.Hour),
		bought("x", "expired", 2, time.Minute), bought("z", "committed", 2, time.Minute))
	k.deduct(1, stock.Fence{}, by("y", "only", 3), by("z", "returned", 4))
	k.merge(nil, by("w", "merged", 12), by("v", "given back", 6))
	k.settle(at, cancel("cancelled"), commit("committed"))
	k.settle(at, extend("reserved", "longer", 2*time.Hour), returns("given back", "r", 4))
	k.settle(at.Add(time.Hour), returns("returned", "late", 1))
	k.expire(at.Add(time.Minute), 1)
	all := []string{"sold", "cancelled", "reserved", "only", "expired", "committed", "returned", "merged", "given back", "nothing"}
	hour := at.Add(time.Hour)
	k.prunes(sku, hour, 0, 0, all...) // it is sold still
	k.archive(sku)
	k.prunes(sku, at, 0, 0, all...)
	k.prunes(sku, at.Add(time.Second), 5, 2+3+12+2, all...) // not those that lasted a minute
	k.prunes(sku, at.Add(time.Minute), 0, 0, all...)
	k.prunes(sku, hour, 2, 2, all...)
	k.counted("x", 1)
	k.counted("y", 0)
	k.counted("z", 3)
	for _, id := range []string{"sold", "cancelled", "only", "expired", "committed", "merged", "given back"} {
		k.absent(id)
		k.refuses(hour, stock.CodeUnknownDeduction, cancel(id), commit(id), giveBack(id, "r", 4), extend(id, "r", time.Hour))
		_, err := k.store.Deduct(t.Context(), k.batch(0, stock.Fence{}, order(id, 1)))
		k.equal("sold again", fmt.Sprint(err), stock.ErrLayout.Error())
	}
	k.equal("reserved", string(k.state("reserved")), "reserved")
	k.equal("returned", string(k.state("returned")), "committed")

	// What is left ends as it would have, and goes when it is old.
	k.settled(hour, commit("reserved"), stock.StatusCommitted, 1, 0)
	k.settled(hour, returns("returned", "", 0), stock.StatusReturned, 3, 3)
	k.prunes(sku, at.Add(2*time.Hour), 1, 0, all...)
	k.prunes(sku, at.Add(2*time.Hour+time.Microsecond), 1, 1, all...)
	k.balance(hour, 33-22, 0, 2+3+12+2+2+1)
	for _, buyer := range []string{"v", "w", "x", "y", "z"} {
		k.counted(buyer, 0)
	}
	page, err := k.store.DeductionPage(t.Context(), stock.DeductionQuery{SKU: sku, Limit: 9})
	k.equal("left", fmt.Sprintf("%+v, %v", page, err), fmt.Sprintf("%+v, %v", stock.DeductionPage{}, nil))
	audit, err := k.store.Audit(t.Context(), sku)
	if err != nil || audit.SKUs[0].Merges == 0 {
		t.Errorf("merges: %+v, %v", audit, err)
	}
	k.sees(
		damage{"UPDATE pruned SET committed = committed - 1", "UPDATE pruned SET committed = committed + 1", 1},
		damage{"UPDATE pruned SET committed = committed + 1", "UPDATE pruned SET committed = committed - 1", -1},
	)
}

// testPruneOrders: an order of several SKUs goes when all of it may go, and its id sells nothing again, of no SKU.
func testPruneOrders(t *testing.T, k *kit) {
	k.threeSKUs()
	lines := []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 7}}
	for _, id := range []string{"o", "p"} {
		p := placing(id, lines, []stock.PlacedLine{anywhere, anywhere})
		if p.Order.BuyerID = "x"; id == "p" {
			p.Order.ReserveFor, p.Order.Lines = time.Minute, []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: 1}}
		}
		if _, created, err := k.store.Order(t.Context(), p); err != nil || !created {
			t.Fatal(id, created, err)
		}
	}
	// One of a single SKU has the same id as an order that knows nothing of it.
	other := stock.Batch{SKU: "c", Layout: firstLayout, Limit: 2, At: at, Orders: []stock.Order{by("x", "o", 1)}}
	if _, err := k.store.Deduct(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	very := placing("o", lines, []stock.PlacedLine{anywhere, anywhere})
	very.Order.BuyerID, very.KnownOnly = "x", true
	replay := func(p stock.Placement, want stock.Code) {
		t.Helper()
		_, created, err := k.store.Order(t.Context(), p)
		k.equal("replay", fmt.Sprint(created, stock.CodeOf(err)), fmt.Sprint(false, want))
	}
	soon := at.Add(time.Second)
	k.archive("a", "c")
	k.prunes("a", soon, 0, 0, "o", "p") // b is sold still
	k.prunes("c", soon, 1, 1, "o")
	replay(very, "")
	k.archive("b")
	k.prunes("a", soon, 1, 2, "o", "p")
	replay(very, stock.CodeUnknownDeduction) // so that it is refused as today: a is archived
	k.prunes("b", soon, 1, 7, "o", "p")
	replay(very, stock.CodeUnknownDeduction)
	very.OfBuyer = true // a buyer that is told of no such order would sell under an id of its own
	replay(very, stock.CodeOrderIDReused)
	if _, err := k.store.CreateSKU(t.Context(), stock.NewSKU{SKU: "d", Stock: 5, Segments: 2}, at); err != nil {
		t.Fatal(err)
	}
	for _, placed := range []stock.PlacedLine{here, anywhere} {
		replay(placing("o", []stock.Line{{SKU: "d", Quantity: 1}}, []stock.PlacedLine{placed}), stock.CodeOrderIDReused)
	}
	// A line that may not go keeps the others.
	for _, sku := range []string{"a", "b"} {
		k.prunes(sku, at.Add(time.Hour), 0, 0, "p")
	}
	settle := func(sku string, request stock.SettleRequest) {
		t.Helper()
		request.InOrder = true
		if _, err := k.store.Settle(t.Context(), stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{request}}); err != nil {
			t.Fatal(err)
		}
	}
	settle("b", cancel("p"))
	k.prunes("b", at.Add(time.Hour), 0, 0, "p")
	settle("a", commit("p"))
	k.prunes("b", at.Add(time.Hour), 1, 0, "p")
	k.prunes("a", at.Add(time.Hour), 1, 1, "p")
	k.left(map[string]int64{"a": 7, "b": 3, "c": 5})
}

// testPruneInSteps: wherever it stops, what is there adds up, and the next one goes on. Sales of other SKUs go on beside it.
func testPruneInSteps(t *testing.T, k *kit) {
	const orders = 60
	k.create(2*orders, 4)
	k.other("beside", 1)
	for n := range orders {
		id := fmt.Sprintf("o-%02d", n)
		if n%3 == 0 {
			k.merge(nil, order(id, 2))
		} else {
			k.deduct(n%4, stock.Fence{}, reserved(id, 1, time.Minute))
		}
		if n%3 == 1 {
			k.settle(at, commit(id))
		}
	}
	k.archive(sku)
	var gone, units, returned atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	for range 2 {
		group.Go(func() error { // each as if the other had died somewhere
			for after := ""; ; {
				page, err := k.store.DeductionPage(ctx, stock.DeductionQuery{SKU: sku, After: after, Limit: 7})
				if err != nil {
					return err
				}
				pruning := stock.Pruning{SKU: sku, Before: at.Add(time.Hour)}
				for _, d := range page.Deductions {
					pruning.OrderIDs = append(pruning.OrderIDs, d.OrderID)
				}
				pruned, err := k.store.Prune(ctx, pruning)
				if err != nil {
					return err
				}
				gone.Add(pruned.Deductions)
				units.Add(pruned.Units)
				if pruned.Busy {
					continue
				}
				if after = page.Next; after == "" {
					return nil
				}
			}
		})
	}
	group.Go(func() error { // retries of commits, and returns
		for n := range orders {
			id := fmt.Sprintf("o-%02d", n)
			requests := []stock.SettleRequest{commit(id)}
			if n%2 == 0 {
				requests = []stock.SettleRequest{returns(id, "", 0)}
			}
			if n%6 == 2 {
				requests = []stock.SettleRequest{cancel(id)}
			}
			got, err := k.store.Settle(ctx, stock.Settlement{SKU: sku, At: at, Requests: requests})
			if err != nil {
				return err
			}
			returned.Add(got[0].Returned)
		}
		return nil
	})
	group.Go(func() error {
		for ctx.Err() == nil && gone.Load() < orders/2 {
			audit, err := k.store.Audit(ctx, "")
			if err != nil || !audit.OK() {
				return fmt.Errorf("beside it: %+v, %w", audit, err)
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for n := range orders {
		ids = append(ids, fmt.Sprintf("o-%02d", n))
	}
	rest, err := k.store.Prune(t.Context(), stock.Pruning{SKU: sku, OrderIDs: ids, Before: at.Add(time.Hour)})
	if err != nil || gone.Load()+rest.Deductions != orders {
		t.Fatalf("%d gone, and %+v, %v", gone.Load(), rest, err)
	}
	status, err := k.store.Status(t.Context(), sku, at)
	if err != nil || status.Committed != units.Load()+rest.Units {
		t.Errorf("%d units are committed, and %d pruned, %v", status.Committed, units.Load()+rest.Units, err)
	}
}
