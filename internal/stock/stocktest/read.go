package stocktest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// soldOut reads with a limit, and returns the ids ascending.
func (k *kit) soldOut(limit int) (versions []int64, soldOut bool, ids []string) {
	k.t.Helper()
	found, err := k.store.SoldOut(k.t.Context(), []string{sku}, limit, func(of, id []byte) {
		if string(of) != sku {
			k.t.Errorf("got an id of SKU %q", of)
		}
		ids = append(ids, string(id))
	})
	if err != nil || len(found) != 1 {
		k.t.Fatalf("sold out: %v, %v", found, err)
	}
	slices.Sort(ids)
	return found[sku].Versions, found[sku].SoldOut(), ids
}

// testSoldOut reads the ids when nothing is left, and until when that lasts: the earliest reservation ends it.
func testSoldOut(t *testing.T, k *kit) {
	if found, err := k.store.SoldOut(t.Context(), []string{sku}, 9, nil); err != nil || len(found) != 0 {
		t.Errorf("of an unknown SKU: %v, %v", found, err)
	}
	k.create(7, 3)
	until := func(want time.Time) {
		t.Helper()
		found, err := k.store.SoldOut(t.Context(), []string{sku}, 0, nil)
		if until := found[sku].NextExpiry; err != nil || !until.Equal(want) {
			t.Errorf("until %s, %v, want %s", until, err, want)
		}
	}
	k.deduct(0, stock.Fence{}, order("a", 1))
	k.deduct(1, stock.Fence{}, order("ü€😀", 1))
	if versions, soldOut, ids := k.soldOut(9); len(versions) != 3 || soldOut || ids != nil {
		t.Errorf("with units left: %v, %v, %q", versions, soldOut, ids)
	}
	until(time.Time{})
	k.merge(nil, reserved("b", 2, time.Hour), reserved("c", 3, time.Minute))
	all := []string{"a", "b", "c", "ü€😀"}
	if versions, soldOut, ids := k.soldOut(9); len(versions) != 3 || !soldOut || !slices.Equal(ids, all) {
		t.Errorf("with nothing left: %v, %v, %q", versions, soldOut, ids)
	}
	for limit := range len(all) + 1 {
		if _, soldOut, ids := k.soldOut(limit); !soldOut || len(ids) != limit {
			t.Errorf("limit %d: %v, %q", limit, soldOut, ids)
		}
	}
	until(at.Add(time.Minute))
	k.settled(at, commit("c"), stock.StatusCommitted, 3, 0)
	until(at.Add(time.Hour))
}

// testSeveralSoldOut reads SKUs together: one has units left, and one is not there. Only those that sold out tell ids, each its own.
func testSeveralSoldOut(t *testing.T, k *kit) {
	k.threeSKUs()
	for segment, sku := range []string{"a", "a", "b"} {
		ids := stock.Batch{SKU: sku, Layout: firstLayout, Segment: segment % 2, At: at, Orders: []stock.Order{order(fmt.Sprint(sku, segment), 5)}}
		if _, err := k.store.Deduct(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
	}
	gone := stock.Batch{SKU: "c", Layout: firstLayout, Segment: stock.AllSegments, Limit: 2, At: at}
	for _, id := range []string{"x", "y", "z"} {
		gone.Orders = append(gone.Orders, by(id, id, 2))
	}
	if _, err := k.store.Merge(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	told := make(map[string][]string)
	views, err := k.store.SoldOut(t.Context(), []string{"c", "none", "b", "a"}, 9, func(sku, id []byte) {
		told[string(sku)] = append(told[string(sku)], string(id))
	})
	if err != nil || len(views) != 3 || !views["a"].SoldOut() || views["b"].SoldOut() || !views["c"].SoldOut() {
		t.Errorf("got %+v, %v, want that a and c are sold out, b is not, and none is left out", views, err)
	}
	for _, ids := range told {
		slices.Sort(ids)
	}
	if want := map[string][]string{"a": {"a0", "a1"}, "c": {"x", "y", "z"}}; !maps.EqualFunc(told, want, slices.Equal) {
		t.Errorf("got %q, want %q", told, want)
	}
}

// testSoldOutIsOneSnapshot reads while units come and are sold. One raises the versions by one, and so does the
// other: where nothing is left, there is an accepted order for every two.
func testSoldOutIsOneSnapshot(t *testing.T, k *kit) {
	const sellers = 3
	units := 60
	if testing.Short() {
		units = 20
	}
	k.create(0, 2)
	var calls []func(context.Context) error
	for seller := range sellers {
		calls = append(calls, func(ctx context.Context) error {
			for n := range units {
				id := fmt.Sprintf("%d-%d", seller, n)
				if _, err := k.store.Move(ctx, restock(sku, id, 1)); err != nil {
					return err
				}
				if err := k.sellFromEither(ctx, id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	k.beside(func() {
		versions, soldOut, ids := k.soldOut(sellers*units + 1)
		if soldOut && sum(versions) != 2*int64(len(ids)) {
			t.Fatalf("versions %v beside %d order ids", versions, len(ids))
		}
	}, calls...)
	k.balance(at, 0, 0, int64(sellers*units))
}

// sellFromEither sells a unit from one of two segments: a restock that meets a held row leaves it out, and fills the other one.
func (k *kit) sellFromEither(ctx context.Context, id string) error {
	for segment := 0; ; segment = 1 - segment {
		result, err := k.store.Deduct(ctx, k.batch(segment, stock.Fence{}, order(id, 1)))
		if err != nil || result.Outcomes[0].Kind == stock.Accepted {
			return err
		}
	}
}

// testExpired lists SKUs with expired reservations.
func testExpired(t *testing.T, k *kit) {
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		k.makes(stock.NewSKU{SKU: name, Stock: 9, Segments: 1})
		o := reserved("o", 1, time.Duration(i+1)*time.Second)
		if name == "c" {
			o.ReserveFor = 0
		}
		_, err := k.store.Deduct(t.Context(), stock.Batch{SKU: name, Layout: firstLayout, At: at, Orders: []stock.Order{o, reserved("p", 1, time.Hour)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	list := func(after time.Duration, limit int, want string) {
		t.Helper()
		got, err := k.store.Expired(t.Context(), at.Add(after), limit)
		for i, due := range got[min(1, len(got)):] {
			if due.Since.Before(got[i].Since) {
				t.Errorf("after %s: %s comes after %s", after, due.SKU, got[i].SKU)
			}
		}
		skus := stock.Column(got, func(d stock.Due) string { return d.SKU })
		k.equal(fmt.Sprintf("after %s, at most %d", after, limit), fmt.Sprint(skus, err), want+" <nil>")
	}
	list(0, 9, "[]")
	list(time.Second, 9, "[a]")
	list(4*time.Second, 9, "[a b d]")
	list(time.Minute, 2, "[a b]")
	list(time.Hour, 9, "[a b d e c]") // the first reservations first, however the SKUs are called
	if _, err := k.store.Expire(t.Context(), "a", at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	list(time.Minute, 9, "[b d e]")
}

// testStatuses reads all SKUs in pages, and holds each to its status.
func testStatuses(t *testing.T, k *kit) {
	if page, err := k.store.Statuses(t.Context(), "", 10); err != nil || len(page) != 0 {
		t.Fatalf("before any SKU: %+v, %v", page, err)
	}
	k.create(30, 3)
	names := []string{"B", "_", "a", "a-b", "a.b", "z"}
	for i, name := range names {
		k.makes(stock.NewSKU{SKU: name, Name: "the " + name, Stock: int64(i), Segments: i + 1, Terms: stock.Terms{
			SaleEndsAt: at.Add(time.Hour), MaxQuantity: 7, MaxReserveFor: time.Minute,
		}})
	}
	k.deduct(1, stock.Fence{}, order("a", 3), reserved("kept", 4, time.Hour), reserved("back", 2, time.Minute))
	k.settled(at, commitOf("kept", 1), stock.StatusCommitted, 1, 3)
	k.moved(restock(sku, "r", 5))
	names = append(names, sku)
	slices.Sort(names) // by bytes
	for limit := 1; limit <= len(names)+1; limit++ {
		after, read := "", []string(nil)
		for full := true; full; {
			page, err := k.store.Statuses(t.Context(), after, limit)
			if full = len(page) == limit; err != nil || len(page) > limit {
				t.Fatalf("%d in a page of %d, %v", len(page), limit, err)
			}
			for _, status := range page {
				k.equal("in the list", status, k.status(status.SKU, time.Time{}))
				after, read = status.SKU, append(read, status.SKU)
			}
		}
		k.equal(fmt.Sprintf("in pages of %d", limit), read, names)
	}
	some, err := k.store.StatusesOf(t.Context(), "z", "nope", "B")
	if err != nil || len(some) != 2 {
		t.Fatalf("of some: %+v, %v", some, err)
	}
	for name, status := range some {
		k.equal("among some", status, k.status(name, time.Time{}))
	}
	found, err := k.store.Names(t.Context(), "a", 3)
	k.equal("names", fmt.Sprint(found, err), "[{a the a} {a-b the a-b} {a.b the a.b}] <nil>")
	found, err = k.store.Names(t.Context(), stock.AfterSKU("a.b"), 9)
	k.equal("the other names", fmt.Sprint(found, err), "[{sku-1 } {z the z}] <nil>")
}

// lastID is an id that no other one in its namespace is above.
var lastID = strings.Repeat("\U0010FFFF", 32)

// testDeductionPages reads the deductions of a SKU in pages, all of them and those of a buyer or a status.
func testDeductionPages(t *testing.T, k *kit) {
	if _, err := k.store.DeductionPage(t.Context(), stock.DeductionQuery{SKU: sku, Limit: 1, Scan: 9}); stock.CodeOf(err) != stock.CodeUnknownSKU {
		t.Errorf("of no SKU: %v", err)
	}
	k.create(100, 2)
	k.other("z", 5)
	own, b := by("ann", stock.OrderKey("ann", "c"), 2), by("bob", "b", 2)
	b.ReserveFor = time.Hour
	k.deduct(0, stock.Fence{}, by("ann", "a", 1), b, own, order("ü", 3), order(lastID, 1))
	k.merge(nil, order("B", 70))
	k.settled(at, returns("B", "", 0), stock.StatusReturned, 70, 70)
	shop, anns := "", "ann"
	keys := []string{"B", "a", own.OrderID, "b", "ü", lastID}
	alone := make(map[string]stock.Deduction)
	for _, key := range keys {
		d := k.deduction(key)
		d.Parts = nil
		alone[key] = d
	}
	for _, c := range []struct {
		buyer     string
		status    stock.DeductionStatus
		namespace *string
		want      []string
	}{
		{"", "", nil, keys},
		{"ann", "", nil, []string{"a", own.OrderID}},
		{"ann", "", &shop, []string{"a"}},
		{"ann", "", &anns, []string{own.OrderID}},
		{"ann", stock.StatusReserved, &anns, nil},
		{"bob", "", &shop, []string{"b"}},
		{"", stock.StatusReserved, nil, []string{"b"}},
		{"", stock.StatusReturned, nil, []string{"B"}},
		{"", stock.StatusCancelled, nil, nil},
		{"bob", stock.StatusCommitted, nil, nil},
		{"nobody", "", nil, nil},
	} {
		for limit := 1; limit <= len(keys)+1; limit++ {
			for scan := 1; scan <= len(keys)+1; scan++ {
				q := stock.DeductionQuery{SKU: sku, BuyerID: c.buyer, Status: c.status, Namespace: c.namespace, Limit: limit, Scan: scan}
				k.equal(fmt.Sprintf("%+v", q), k.readPages(q, alone), c.want)
			}
		}
	}
}

// other creates another SKU, and takes a unit of it for an order.
func (k *kit) other(orderID string, units int64) {
	k.t.Helper()
	k.makes(stock.NewSKU{SKU: "other", Stock: units, Segments: 1})
	batch := stock.Batch{SKU: "other", Layout: firstLayout, At: at, Orders: []stock.Order{order(orderID, 1)}}
	if _, err := k.store.Deduct(k.t.Context(), batch); err != nil {
		k.t.Fatal(err)
	}
}

// readPages reads page after page, holds each deduction to what was read of it alone, and returns the keys.
func (k *kit) readPages(q stock.DeductionQuery, alone map[string]stock.Deduction) (keys []string) {
	k.t.Helper()
	for {
		page, err := k.store.DeductionPage(k.t.Context(), q)
		if err != nil || len(page.Deductions) > q.Limit {
			k.t.Fatalf("%+v: %d in a page, %v", q, len(page.Deductions), err)
		}
		if namespace, id := stock.SplitOrderKey(page.Next); q.Namespace != nil && page.Next != "" && namespace != *q.Namespace && id != lastID {
			k.t.Fatalf("%+v: goes on behind %q, which is of another namespace", q, page.Next)
		}
		for _, d := range page.Deductions {
			k.equal("in a page", d, alone[d.OrderID])
			keys = append(keys, d.OrderID)
		}
		if page.Next == "" {
			return keys
		}
		if page.Next <= q.After {
			k.t.Fatalf("behind %q goes on behind %q", q.After, page.Next)
		}
		q.After = page.Next
	}
}

// testDeductionPagesAreBounded looks for what is not among the first rows.
func testDeductionPagesAreBounded(t *testing.T, k *kit) {
	k.create(100, 1)
	k.deduct(0, stock.Fence{}, append(orders("x", 30), reserved("y", 1, time.Hour))...)
	q := stock.DeductionQuery{SKU: sku, Status: stock.StatusReserved, Limit: 2, Scan: 10}
	for n, want := range []string{"x-009", "x-019", "x-029", ""} {
		page, err := k.store.DeductionPage(t.Context(), q)
		if err != nil || page.Next != want || (len(page.Deductions) == 1) != (n == 3) {
			t.Errorf("page %d: %+v, %v, want to go on behind %q", n, page, err, want)
		}
		q.After = page.Next
	}
	q.Status, q.After = "", ""
	if page, err := k.store.DeductionPage(t.Context(), q); err != nil || len(page.Deductions) != 2 || page.Next != "x-001" {
		t.Errorf("of any status: %+v, %v", page, err)
	}
}

// testPool has more readers than there are connections, each of which keeps its own until it is let go. On a busy machine most readers may
// come when the first have gone: then more of them do. The time for which they wait is real.
func testPool(t *testing.T, k *kit) {
	k.create(1, 1)
	k.deduct(0, stock.Fence{}, order("a", 1))
	const readers, least = 64, 4 // every store has that many connections
	var busy, after stock.Pool
	busytest.Soon(t, "a reader waits for a connection", func() bool {
		letGo := make(chan struct{})
		var reading sync.WaitGroup
		for range readers {
			reading.Go(func() {
				if _, err := k.store.SoldOut(t.Context(), []string{sku}, 1, func(_, _ []byte) { <-letGo }); err != nil {
					t.Error(err)
				}
			})
		}
		busytest.Soon(t, "readers have as many connections as every store has", func() bool {
			busy = k.store.Pool()
			return busy.Busy >= least
		})
		close(letGo)
		reading.Wait()
		after = k.store.Pool()
		return after.Waits > 0
	})
	if busy.Open < busy.Busy || after.Busy != 0 || after.Waits == 0 || after.Waited <= 0 {
		t.Errorf("pool with %d readers: %+v, and after them: %+v", readers, busy, after)
	}
}

// testExpireFree ends what has expired of many SKUs at once, what one or several segments gave, and what buyers hold. SKUs that have
// nothing due are left as they are.
func testExpireFree(t *testing.T, k *kit) {
	names := []string{"a", "b", "c"}
	for _, name := range names {
		k.makes(stock.NewSKU{SKU: name, Stock: 12, Segments: 3, Terms: stock.Terms{PerBuyerLimit: 9}})
		merge := stock.Batch{SKU: name, Layout: firstLayout, Limit: 9, At: at, Segment: stock.AllSegments}
		merge.Orders = []stock.Order{
			{OrderID: "several", BuyerID: "ann", Quantity: 6, ReserveFor: time.Second},
			{OrderID: "one", BuyerID: "ann", Quantity: 1, ReserveFor: time.Minute},
			{OrderID: "bought", BuyerID: "bob", Quantity: 2},
		}
		if _, err := k.store.Merge(t.Context(), merge); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		after time.Duration
		skus  []string
		want  string
	}{
		{0, names, "map[]"},
		{time.Second, []string{"a", "c", "unknown"}, "map[a:1 c:1]"},
		{time.Second, names, "map[b:1]"},
		{time.Minute, names, "map[a:1 b:1 c:1]"},
		{time.Hour, names, "map[]"},
	} {
		got, err := k.store.ExpireFree(t.Context(), at.Add(step.after), step.skus...)
		told := make(map[string]int)
		for sku, ended := range got {
			told[sku] = ended.Reservations
		}
		k.equal(fmt.Sprintf("after %s of %v", step.after, step.skus), fmt.Sprint(told, err), step.want+" <nil>")
	}
	for _, name := range names {
		status, err := k.store.Status(t.Context(), name, at)
		if err != nil || status.Available != 10 || status.Reserved != 0 || status.Committed != 2 {
			t.Errorf("%s: %+v, %v", name, status, err)
		}
	}
}

// testOrderLines lists the lines of all orders by time, in pages, and those that filters leave.
func testOrderLines(t *testing.T, k *kit) {
	is := func(want bool) {
		t.Helper()
		if listed, err := k.store.OrdersListed(t.Context()); err != nil || listed != want {
			t.Fatalf("orders are listed: %v, %v, want %v", listed, err, want)
		}
	}
	is(false)
	for range 2 {
		if err := k.store.ListOrders(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	is(true)
	k.create(50, 2)
	k.makes(stock.NewSKU{SKU: "other", Stock: 9, Segments: 1})
	own := by("ann", stock.OrderKey("ann", "o-5"), 1)
	own.ReserveFor = time.Hour
	for i, o := range []stock.Order{by("ann", "o-9", 1), by("bob", "o-8", 1), order("o-7", 1), by("ann", "o-6", 2), own} {
		b := k.batch(0, stock.Fence{}, o)
		b.At = at.Add(time.Duration(i/2) * time.Second)
		if _, err := k.store.Deduct(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	p := placing("o-1", []stock.Line{{SKU: "other", Quantity: 1}, {SKU: sku, Quantity: 1}}, []stock.Batch{anywhere, anywhere})
	p.Order.BuyerID = "ann"
	k.places(p)
	k.settle(at.Add(3*time.Second), commit(own.OrderID))
	k.settle(at.Add(3*time.Second), returns("o-8", "", 0))
	all := k.lines(stock.OrderQuery{}, 99)
	told := stock.Column(all, func(l stock.Deduction) string {
		return fmt.Sprintf("%s %s %v %v %s %v", l.SKU, l.OrderID, l.CreatedAt.Sub(at), l.CommittedAt.Sub(l.CreatedAt), l.Status, l.InOrder)
	})
	k.equal("all", told, []string{
		"other o-1 0s 0s committed true", "sku-1 o-1 0s 0s committed true", "sku-1 o-8 0s 0s returned false", "sku-1 o-9 0s 0s committed false",
		"sku-1 o-6 1s 0s committed false", "sku-1 o-7 1s 0s committed false", "sku-1 " + own.OrderID + " 2s 1s committed false",
	})
	shops := ""
	for name, q := range map[string]stock.OrderQuery{
		"all":             {},
		"of a buyer":      {BuyerID: "ann"},
		"of own ids":      {BuyerID: "ann", Namespace: &own.BuyerID},
		"of the shop":     {BuyerID: "ann", Namespace: &shops},
		"since":           {Since: at.Add(time.Second)},
		"until":           {Until: at.Add(time.Second), BuyerID: "ann"},
		"of an instant":   {Since: at.Add(time.Second), Until: at.Add(time.Second + time.Microsecond)},
		"with a status":   {Status: stock.StatusReturned},
		"of nobody":       {BuyerID: "nobody"},
		"with all of it":  {BuyerID: "bob", Status: stock.StatusReturned, Since: at, Until: at.Add(time.Hour)},
		"before anything": {Until: at},
	} {
		want := slices.Clone(all)
		want = slices.DeleteFunc(want, func(l stock.Deduction) bool {
			namespace, _ := stock.SplitOrderKey(l.OrderID)
			return q.BuyerID != "" && l.BuyerID != q.BuyerID || q.Status != "" && l.Status != q.Status || l.CreatedAt.Before(q.Since) ||
				!q.Until.IsZero() && !l.CreatedAt.Before(q.Until) || q.Namespace != nil && *q.Namespace != namespace
		})
		for limit := 1; limit <= len(all)+1; limit++ {
			k.equal(fmt.Sprintf("%s in pages of %d", name, limit), fmt.Sprint(k.lines(q, limit)), fmt.Sprint(want))
		}
	}
	if err := k.store.ListOrders(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	is(false)
}

// lines reads all pages of a list of orders.
func (k *kit) lines(q stock.OrderQuery, limit int) (all []stock.Deduction) {
	k.t.Helper()
	for q.Limit, q.Scan = limit, limit+1; ; {
		page, err := k.store.OrderLines(k.t.Context(), q)
		if err != nil || len(page.Lines) > limit {
			k.t.Fatalf("%d lines in a page of %d, %v", len(page.Lines), limit, err)
		}
		all = append(all, page.Lines...)
		if q.After = page.Next; q.After == (stock.LinePosition{}) {
			return all
		}
	}
}
