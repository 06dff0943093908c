package stocktest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// OutboxBench is one empty database whose outbox is off.
type OutboxBench struct {
	Store  stock.Store
	Outbox stock.Outbox
	// Exec runs a statement beside the store.
	Exec func(ctx context.Context, statement string) error
}

// RunOutbox runs the suite of [stock.Outbox]; open returns a database for each case and closes it when the case is over.
func RunOutbox(t *testing.T, open func(t *testing.T) OutboxBench) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*outboxKit)
	}{
		{"what it tells", testOutboxTells},
		{"every text of an order", testOutboxHasEveryText},
		{"every way of an order", testOutboxWays},
		{"on and off", testOutboxOnOff},
		{"on and off while stock is sold", testOutboxWhileSelling},
		{"trim", testOutboxTrim},
		{"nothing is missed and nothing repeated", testOutboxRace},
		{"cursors", testOutboxCursors},
		{"without its migration", testOutboxMissing},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			k := &outboxKit{kit: &kit{t: t, store: b.Store, exec: b.Exec, layout: firstLayout}, outbox: b.Outbox}
			k.create(1_000_000, 4)
			c.run(k)
		})
	}
}

type outboxKit struct {
	*kit
	outbox stock.Outbox
}

// turn turns the outbox on or off.
func (k *outboxKit) turn(on bool) {
	k.t.Helper()
	turn := k.outbox.Off
	if on {
		turn = k.outbox.On
	}
	if err := turn(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
}

// sell sells one unit for each order id, from one segment.
func (k *outboxKit) sell(segment int, ids ...string) {
	k.t.Helper()
	if err := k.trySell(k.t.Context(), segment, ids...); err != nil {
		k.t.Fatal(err)
	}
}

func (k *outboxKit) trySell(ctx context.Context, segment int, ids ...string) error {
	orders := stock.Column(ids, func(id string) stock.Order { return by("ann", id, 1) })
	_, err := k.store.Deduct(ctx, k.batch(segment, stock.Fence{}, orders...))
	return err
}

// read reads what is behind a cursor, in pages of a size, until it has as many changes.
func (k *outboxKit) read(after string, page, atLeast int) (all []stock.Change) {
	k.t.Helper()
	return k.readUntil(after, page, func(all []stock.Change) bool { return len(all) >= atLeast })
}

// readUntil reads what is behind a cursor, in pages of a size, until nothing more is there and that is enough. On a server with other
// databases, their transactions hold changes back.
func (k *outboxKit) readUntil(after string, page int, enough func([]stock.Change) bool) (all []stock.Change) {
	k.t.Helper()
	busytest.Soon(k.t, "all changes are told", func() bool {
		for {
			changes := k.page(after, page)
			if len(changes) == 0 {
				return enough(all)
			}
			all, after = append(all, changes...), changes[len(changes)-1].Cursor
		}
	})
	return all
}

// page reads some changes.
func (k *outboxKit) page(after string, page int) []stock.Change {
	k.t.Helper()
	changes, err := k.outbox.Read(k.t.Context(), after, page)
	if err != nil {
		k.t.Fatal(err)
	}
	return changes
}

// told reads what is behind the beginning, until it has as many changes, and puts it in words, by order id.
func (k *outboxKit) told(atLeast int) map[string]string {
	k.t.Helper()
	told := make(map[string]string)
	for _, c := range k.read("", 3, atLeast) {
		off := ""
		if c.WrittenOff > 0 {
			off = fmt.Sprint(" -", c.WrittenOff)
		}
		told[c.OrderID] += fmt.Sprint(c.Status, " ", c.Quantity, off, ", ")
	}
	return told
}

// wantIDs checks which changes there are behind a cursor.
func (k *outboxKit) wantIDs(after string, want ...string) {
	k.t.Helper()
	got := stock.Column(k.read(after, 2, len(want)), func(c stock.Change) string { return c.OrderID })
	k.equal(fmt.Sprintf("behind %q", after), got, want)
}

// testOutboxHasEveryText: each text that a deduction keeps of its order is in every change, in a field of the same name.
func testOutboxHasEveryText(k *outboxKit) {
	k.turn(true)
	o := filledOrder(k.t, "o")
	k.deduct(0, stock.Fence{}, o)
	k.must(`UPDATE deductions SET status = 'cancelled'`)
	order := reflect.ValueOf(&o).Elem()
	for _, change := range k.read("", 2, 2) {
		for _, text := range stock.KeptTexts() {
			for i := range order.NumField() {
				if order.Field(i).Addr().Interface() != any(text.Of(&o)) {
					continue
				}
				name := order.Type().Field(i).Name
				if field := reflect.ValueOf(change).FieldByName(name); !field.IsValid() || field.String() != text.Get(o) {
					k.t.Errorf("field %s of the change to %s: got %v, want %q", name, change.Status, field, text.Get(o))
				}
			}
		}
	}
}

func testOutboxTells(k *outboxKit) {
	k.turn(true)
	begun := time.Now().Add(-time.Minute)
	k.sell(0, "b", "a")
	k.sell(1, "a", "b") // replays
	k.merge(nil, order("large", 400_000))
	k.must(`UPDATE deductions SET status = 'cancelled' WHERE order_id = 'a'`)
	k.must(`UPDATE deductions SET quantity = 7 WHERE order_id = 'large'`)
	k.must(`UPDATE deductions SET segment = segment`) // nothing that is told
	want := []stock.Change{
		{OrderID: "a", BuyerID: "ann", Quantity: 1, Status: stock.StatusCommitted},
		{OrderID: "b", BuyerID: "ann", Quantity: 1, Status: stock.StatusCommitted},
		{OrderID: "large", Quantity: 400_000, Status: stock.StatusCommitted},
		{OrderID: "a", BuyerID: "ann", Quantity: 1, Status: stock.StatusCancelled},
		{OrderID: "large", Quantity: 7, Status: stock.StatusCommitted},
	}
	got := k.read("", 100, len(want))
	if len(got) != len(want) {
		k.t.Fatalf("got %+v", got)
	}
	// The orders of one transaction may be noted in any order.
	if got[0].OrderID == "b" {
		got[0], got[1] = got[1], got[0]
	}
	versions := map[string]int64{}
	for i, c := range got {
		if c.Version <= versions[c.OrderID] {
			k.t.Errorf("%+v came after version %d", c, versions[c.OrderID])
		}
		versions[c.OrderID], c.Version = c.Version, 0
		if c.At.Before(begun) || c.At.After(time.Now().Add(time.Minute)) || c.Cursor == "" || c.SKU != sku {
			k.t.Errorf("%+v", c)
		}
		c.At, c.Cursor, c.SKU = time.Time{}, "", ""
		if c != want[i] {
			k.t.Errorf("got %+v, want %+v", c, want[i])
		}
	}
}

// testOutboxWays takes orders every way that a store has. A return whose units are sold again and one that writes them off are not alike.
func testOutboxWays(k *outboxKit) {
	k.turn(true)
	k.deduct(0, stock.Fence{}, reserved("commit", 3, time.Minute), reserved("cancel", 1, time.Minute), reserved("expire", 2, time.Minute),
		reserved("return", 4, time.Minute), reserved("extend", 1, time.Minute), order("damaged", 7))
	k.settle(at, cancel("cancel"), commitOf("commit", 2), giveBack("return", "r", 1), extend("extend", "r", 2*time.Hour))
	for _, request := range []stock.SettleRequest{
		giveBack("return", "s", 3), returns("damaged", "a", 1), writesOff("damaged", "b", 2), writesOff("damaged", "", 0),
	} {
		for range 2 { // the second one is a replay
			k.settle(at, request)
		}
	}
	k.expire(at.Add(time.Hour), 1)
	k.places(placing("both", []stock.Line{{SKU: sku, Quantity: 5}}, []stock.Batch{here}))
	for ref, units := range map[string]int64{"more": 7, "less": 2} {
		c := placing("changed by "+ref, []stock.Line{{SKU: sku, Quantity: 5}}, []stock.Batch{here})
		k.places(c)
		change := stock.OrderChange{OrderID: c.Order.OrderID, Ref: ref, Lines: []stock.Line{{SKU: sku, Quantity: units}}, NewBuyer: "bob"}
		if err := revise(k.t.Context(), k.store, at, change); err != nil {
			k.t.Fatal(err)
		}
	}
	both := placing("handed over", []stock.Line{{SKU: sku, Quantity: 5}}, []stock.Batch{here})
	k.places(both)
	if err := revise(k.t.Context(), k.store, at, stock.OrderChange{OrderID: both.Order.OrderID, Ref: "r", Lines: both.Order.Lines, NewBuyer: "bob"}); err != nil {
		k.t.Fatal(err)
	}
	buyers := make(map[string]string)
	for _, c := range k.read("", 9, 22) {
		buyers[c.OrderID] = c.BuyerID
	}
	k.equal("last buyers", []string{buyers["changed by more"], buyers["changed by less"], buyers["handed over"], buyers["both"]}, []string{"bob", "bob", "bob", both.Order.BuyerID})
	k.equal("told", k.told(22), map[string]string{
		"changed by more": "committed 5, committed 7, ", "changed by less": "committed 5, committed 2, committed 2, ", "handed over": "committed 5, committed 5, ",
		"commit": "reserved 3, committed 2, ", "cancel": "reserved 1, cancelled 1, ",
		"expire": "reserved 2, expired 2, ", "both": "committed 5, ",
		"return": "reserved 4, reserved 3, cancelled 3, ", "extend": "reserved 1, ", // an extension is not told
		"damaged": "committed 7, committed 6, committed 4 -2, returned 4 -4, ",
	})
}

func testOutboxOnOff(k *outboxKit) {
	k.sell(0, "before")
	k.wantIDs("")
	for _, on := range []bool{false, true, true} {
		k.turn(on)
	}
	k.sell(0, "a")
	k.turn(false)
	k.turn(false)
	k.sell(0, "b")
	k.turn(true)
	k.sell(0, "c")
	k.wantIDs("", "a", "c")
}

// testOutboxWhileSelling turns the outbox on and off beside sales. An order that is sold while it is on is in it once, and one that is sold while it is
// off is not. An order that is sold during the change may be in it, and not twice.
func testOutboxWhileSelling(k *outboxKit) {
	const rounds, each = 6, 20
	var over atomic.Bool
	var selling errgroup.Group
	for seller := range 3 {
		selling.Go(func() error {
			for n := 0; !over.Load(); n++ {
				if err := k.trySell(k.t.Context(), seller, fmt.Sprintf("meanwhile %d-%d", seller, n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	end := func() {
		if over.Store(true); selling.Wait() != nil {
			k.t.Error(selling.Wait())
		}
	}
	defer end()
	for round := range rounds {
		on := round%2 == 0
		k.turn(on)
		for n := range each {
			k.sell(3, fmt.Sprintf("%t %d-%d", on, round, n))
		}
	}
	end()
	times := make(map[string]int)
	k.readUntil("", 1000, func(all []stock.Change) bool {
		clear(times)
		whileOn := 0
		for _, c := range all {
			if times[c.OrderID]++; strings.HasPrefix(c.OrderID, "true") {
				whileOn++
			}
		}
		return whileOn >= rounds/2*each
	})
	for id, n := range times {
		if n > 1 || strings.HasPrefix(id, "false") {
			k.t.Errorf("order %s is told %d times", id, n)
		}
	}
}

func testOutboxTrim(k *outboxKit) {
	k.turn(true)
	for _, id := range []string{"a", "b", "c"} {
		k.sell(0, id)
	}
	second := k.read("", 100, 3)[1].Cursor
	trim := func(before string, want int64) {
		k.t.Helper()
		if n, err := k.outbox.Trim(k.t.Context(), before); err != nil || n != want {
			k.t.Errorf("%d were trimmed, want %d: %v", n, want, err)
		}
	}
	trim(second, 2)
	trim(second, 0)
	k.wantIDs("", "c")
	k.wantIDs(second, "c")
	last := k.read("", 100, 1)[0].Cursor
	trim(last, 1)
	k.sell(0, "d")
	k.wantIDs(last, "d")
	many := make([]string, 2500) // more than one transaction trims
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	k.sell(1, many...)
	all := k.read(last, 1000, 2501)
	trim(all[len(all)-1].Cursor, 2501)
	k.wantIDs("")
}

// testOutboxRace reads while many sell, in pages of any size.
func testOutboxRace(k *outboxKit) {
	k.turn(true)
	random := seeded(k.t)
	const sellers = 8
	each := 20
	if testing.Short() {
		each = 5
	}
	var calls []func(context.Context) error
	for seller := range sellers {
		calls = append(calls, func(ctx context.Context) error {
			for n := range each {
				if err := k.trySell(ctx, seller%4, fmt.Sprintf("%d-%d-a", seller, n), fmt.Sprintf("%d-%d-b", seller, n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	noted, after := map[string]bool{}, ""
	read := func() {
		for _, c := range k.page(after, 1+random.IntN(50)) {
			if noted[c.OrderID] {
				k.t.Fatalf("%s was told twice", c.OrderID)
			}
			noted[c.OrderID], after = true, c.Cursor
		}
	}
	k.beside(read, calls...)
	busytest.Soon(k.t, "everything that was sold is told", func() bool {
		read()
		return len(noted) >= sellers*each*2
	})
	k.wantIDs(after)
}

func testOutboxCursors(k *outboxKit) {
	for _, cursor := range []string{"x", "-1", "1.x", "x.1", "1.-1", " 1", "99999999999999999999", "99999999999999999999.1"} {
		_, read := k.outbox.Read(k.t.Context(), cursor, 1)
		_, trim := k.outbox.Trim(k.t.Context(), cursor)
		k.equal(fmt.Sprintf("read and trim at %q", cursor), []error{read, trim}, []error{stock.BadCursor(cursor), stock.BadCursor(cursor)})
	}
}

// testOutboxMissing: it is not turned on where it would break sales.
func testOutboxMissing(k *outboxKit) {
	k.must(`DROP TABLE outbox`)
	if err := k.outbox.On(k.t.Context()); err == nil {
		k.t.Error("an outbox that is not there is on")
	}
}
