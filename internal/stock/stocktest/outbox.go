package stocktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		{"off at first", testOutboxOff},
		{"what it tells", testOutboxTells},
		{"every text of an order", testOutboxHasEveryText},
		{"every way of an order", testOutboxWays},
		{"what was written off", testOutboxWriteOffs},
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
			k := &outboxKit{T: t, OutboxBench: b}
			if _, err := b.Store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 1_000_000, Segments: 4}, at); err != nil {
				t.Fatal(err)
			}
			c.run(k)
		})
	}
}

type outboxKit struct {
	*testing.T
	OutboxBench
}

// must checks what cannot fail.
func (k *outboxKit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// sell sells one unit for each order id, from one segment.
func (k *outboxKit) sell(segment int, ids ...string) {
	k.Helper()
	k.must(k.trySell(segment, ids...))
}

func (k *outboxKit) trySell(segment int, ids ...string) error {
	orders := make([]stock.Order, len(ids))
	for i, id := range ids {
		orders[i] = stock.Order{OrderID: id, BuyerID: "ann", Quantity: 1}
	}
	_, err := k.Store.Deduct(k.Context(), stock.Batch{SKU: sku, Layout: firstLayout, Segment: segment, At: at, Orders: orders})
	return err
}

// patience is how long a change may take to be told: on a server with other databases, their transactions hold it back.
const patience = time.Minute

// read reads what is behind a cursor, in pages of a size, until it has as many changes.
func (k *outboxKit) read(after string, page, atLeast int) (all []stock.Change) {
	k.Helper()
	return k.readUntil(after, page, func(all []stock.Change) bool { return len(all) >= atLeast })
}

// readUntil reads what is behind a cursor, in pages of a size, until nothing more is there and that is enough.
func (k *outboxKit) readUntil(after string, page int, enough func([]stock.Change) bool) (all []stock.Change) {
	k.Helper()
	for end := time.Now().Add(patience); ; {
		changes, err := k.Outbox.Read(k.Context(), after, page)
		k.must(err)
		if len(changes) > 0 {
			all, after = append(all, changes...), changes[len(changes)-1].Cursor
			continue
		}
		if enough(all) {
			return all
		}
		if time.Now().After(end) {
			k.Fatalf("behind %q: got %d changes, and more are to come", after, len(all))
		}
	}
}

// wantIDs checks which changes there are behind a cursor.
func (k *outboxKit) wantIDs(after string, want ...string) {
	k.Helper()
	got := []string{}
	for _, c := range k.read(after, 2, len(want)) {
		got = append(got, c.OrderID)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		k.Errorf("behind %q: got %v, want %v", after, got, want)
	}
}

func testOutboxOff(k *outboxKit) {
	k.sell(0, "a", "b")
	k.wantIDs("")
}

// testOutboxHasEveryText: each text that a deduction keeps of its order is in the change, in a field of the same name.
func testOutboxHasEveryText(k *outboxKit) {
	k.must(k.Outbox.On(k.Context()))
	o := filledOrder(k.T, "o")
	_, err := k.Store.Deduct(k.Context(), stock.Batch{SKU: sku, Layout: firstLayout, At: at, Orders: []stock.Order{o}})
	k.must(err)
	change, order := reflect.ValueOf(k.read("", 1, 1)[0]), reflect.ValueOf(&o).Elem()
	for _, text := range stock.KeptTexts() {
		for i := range order.NumField() {
			if order.Field(i).Addr().Interface() != any(text.Of(&o)) {
				continue
			}
			name := order.Type().Field(i).Name
			if field := change.FieldByName(name); !field.IsValid() || field.String() != text.Get(o) {
				k.Errorf("field %s of the change: got %v, want %q", name, field, text.Get(o))
			}
		}
	}
}

func testOutboxTells(k *outboxKit) {
	k.must(k.Outbox.On(k.Context()))
	begun := time.Now().Add(-time.Minute)
	k.sell(0, "b", "a")
	k.sell(1, "a", "b") // replays
	merge := stock.Batch{SKU: sku, Layout: firstLayout, At: at, Orders: []stock.Order{{OrderID: "large", Quantity: 400_000}}}
	_, err := k.Store.Merge(k.Context(), merge)
	k.must(err)
	k.must(k.Exec(k.Context(), `UPDATE deductions SET status = 'cancelled' WHERE order_id = 'a'`))
	k.must(k.Exec(k.Context(), `UPDATE deductions SET quantity = 7 WHERE order_id = 'large'`))
	k.must(k.Exec(k.Context(), `UPDATE deductions SET segment = segment`)) // nothing that is told
	want := []stock.Change{
		{OrderID: "a", BuyerID: "ann", Quantity: 1, Status: stock.StatusCommitted},
		{OrderID: "b", BuyerID: "ann", Quantity: 1, Status: stock.StatusCommitted},
		{OrderID: "large", Quantity: 400_000, Status: stock.StatusCommitted},
		{OrderID: "a", BuyerID: "ann", Quantity: 1, Status: stock.StatusCancelled},
		{OrderID: "large", Quantity: 7, Status: stock.StatusCommitted},
	}
	got := k.read("", 100, len(want))
	if len(got) != len(want) {
		k.Fatalf("got %+v", got)
	}
	// The orders of one transaction may be noted in any order.
	if got[0].OrderID == "b" {
		got[0], got[1] = got[1], got[0]
	}
	versions := map[string]int64{}
	for i, c := range got {
		if c.Version <= versions[c.OrderID] {
			k.Errorf("%+v came after version %d", c, versions[c.OrderID])
		}
		versions[c.OrderID], c.Version = c.Version, 0
		if c.At.Before(begun) || c.At.After(time.Now().Add(time.Minute)) || c.Cursor == "" || c.SKU != sku {
			k.Errorf("%+v", c)
		}
		c.At, c.Cursor, c.SKU = time.Time{}, "", ""
		if c != want[i] {
			k.Errorf("got %+v, want %+v", c, want[i])
		}
	}
}

// testOutboxWays takes orders every way that a store has.
func testOutboxWays(k *outboxKit) {
	k.must(k.Outbox.On(k.Context()))
	later := at.Add(time.Hour)
	reserve := func(id string, quantity int64) stock.Order {
		return stock.Order{OrderID: id, Quantity: quantity, ReserveFor: time.Minute}
	}
	_, err := k.Store.Deduct(k.Context(), stock.Batch{
		SKU: sku, Layout: firstLayout, At: at, Orders: []stock.Order{reserve("commit", 3), reserve("cancel", 1), reserve("expire", 2), reserve("return", 4), reserve("extend", 1)},
	})
	k.must(err)
	_, err = k.Store.Settle(k.Context(), stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{
		{OrderID: "cancel", Verb: stock.Cancel}, {OrderID: "commit", Quantity: 2}, giveBack("return", "r", 1), extend("extend", "r", 2*time.Hour),
	}})
	k.must(err)
	for range 2 { // the second one is a replay
		_, err = k.Store.Settle(k.Context(), stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{giveBack("return", "s", 3)}})
		k.must(err)
	}
	_, err = k.Store.Expire(k.Context(), sku, later)
	k.must(err)
	_, _, err = k.Store.Order(k.Context(), placing("both", []stock.Line{{SKU: sku, Quantity: 5}}, []stock.PlacedLine{{Layout: firstLayout, Segment: 1}}))
	k.must(err)
	want := map[string]string{
		"commit": "reserved 3, committed 2, ", "cancel": "reserved 1, cancelled 1, ",
		"expire": "reserved 2, expired 2, ", "both": "committed 5, ",
		"return": "reserved 4, reserved 3, cancelled 3, ", "extend": "reserved 1, ", // an extension is not told
	}
	got := map[string]string{}
	for _, c := range k.read("", 3, 11) {
		got[c.OrderID] += fmt.Sprint(c.Status, " ", c.Quantity, ", ")
	}
	if !maps.Equal(got, want) {
		k.Errorf("got %v, want %v", got, want)
	}
}

// testOutboxWriteOffs: a return whose units are sold again and one that writes them off are not alike.
func testOutboxWriteOffs(k *outboxKit) {
	k.must(k.Outbox.On(k.Context()))
	_, err := k.Store.Deduct(k.Context(), stock.Batch{SKU: sku, Layout: firstLayout, At: at, Orders: []stock.Order{{OrderID: "o", Quantity: 7}}})
	k.must(err)
	part, all := returns("o", "damaged", 2), returns("o", "", 0)
	part.WriteOff, all.WriteOff = true, true
	for _, request := range []stock.SettleRequest{returns("o", "a", 1), part, part, returns("o", "b", 1), all, all} { // with replays
		results, err := k.Store.Settle(k.Context(), stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{request}})
		k.must(err)
		k.must(results[0].Err)
	}
	got, want := "", "committed 7 -0, committed 6 -0, committed 4 -2, committed 3 -0, returned 3 -3, "
	for _, c := range k.read("", 10, 5) {
		got += fmt.Sprintf("%s %d -%d, ", c.Status, c.Quantity, c.WrittenOff)
	}
	if got != want {
		k.Errorf("got %q, want %q", got, want)
	}
}

func testOutboxOnOff(k *outboxKit) {
	k.must(k.Outbox.Off(k.Context()))
	k.must(k.Outbox.On(k.Context()))
	k.must(k.Outbox.On(k.Context()))
	k.sell(0, "a")
	k.must(k.Outbox.Off(k.Context()))
	k.must(k.Outbox.Off(k.Context()))
	k.sell(0, "b")
	k.must(k.Outbox.On(k.Context()))
	k.sell(0, "c")
	k.wantIDs("", "a", "c")
}

// testOutboxWhileSelling turns the outbox on and off beside sales. Orders that were sent and answered while it was on are
// all there, those that were while it was off are not, and the others may be.
func testOutboxWhileSelling(k *outboxKit) {
	const (
		on = 1 + iota
		off
		changing
	)
	var state atomic.Int64
	state.Store(off)
	var mu sync.Mutex
	want := map[string]int64{} // on or off
	one, over := make(chan struct{}), make(chan struct{})
	var selling sync.WaitGroup
	end := sync.OnceFunc(func() {
		close(over)
		selling.Wait()
	})
	defer end()
	sellOne := func(segment int, id string) {
		before := state.Load()
		if err := k.trySell(segment, id); err != nil {
			k.Errorf("order %s: %v", id, err)
			return
		}
		if state.Load() == before && before&3 != changing {
			mu.Lock()
			defer mu.Unlock()
			want[id] = before & 3
		}
	}
	for seller := range 4 {
		selling.Go(func() {
			for n := 0; ; n++ {
				sellOne(seller, fmt.Sprintf("%d-%d", seller, n))
				select {
				case <-over:
					return
				case one <- struct{}{}:
				default: // nobody counts
				}
			}
		})
	}
	for round := range int64(6) {
		for range 20 {
			<-one
		}
		state.Store(round<<2 | changing)
		if round%2 == 0 {
			k.must(k.Outbox.On(k.Context()))
			state.Store(round<<2 | on)
		} else {
			k.must(k.Outbox.Off(k.Context()))
			state.Store(round<<2 | off)
		}
	}
	end()
	noted := func(all []stock.Change) map[string]int {
		times := map[string]int{}
		for _, c := range all {
			times[c.OrderID]++
		}
		return times
	}
	all := k.readUntil("", 1000, func(all []stock.Change) bool {
		times := noted(all)
		for id, state := range want {
			if state == on && times[id] == 0 {
				return false
			}
		}
		return true
	})
	for id, times := range noted(all) {
		if times > 1 || want[id] == off {
			k.Errorf("order %s is there %d times; sold while the outbox was off: %v", id, times, want[id] == off)
		}
	}
}

func testOutboxTrim(k *outboxKit) {
	k.must(k.Outbox.On(k.Context()))
	for _, id := range []string{"a", "b", "c"} {
		k.sell(0, id)
	}
	second := k.read("", 100, 3)[1].Cursor
	trim := func(before string, want int64) {
		k.Helper()
		if n, err := k.Outbox.Trim(k.Context(), before); err != nil || n != want {
			k.Errorf("%d were trimmed, want %d: %v", n, want, err)
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
	k.must(k.Outbox.On(k.Context()))
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	const sellers = 8
	each := 20
	if testing.Short() {
		each = 5
	}
	var selling sync.WaitGroup
	defer selling.Wait()
	for seller := range sellers {
		selling.Go(func() {
			for n := range each {
				if err := k.trySell(seller%4, fmt.Sprintf("%d-%d-a", seller, n), fmt.Sprintf("%d-%d-b", seller, n)); err != nil {
					k.Error(err)
				}
			}
		})
	}
	noted, after := map[string]bool{}, ""
	for end := time.Now().Add(patience); len(noted) < sellers*each*2; {
		changes, err := k.Outbox.Read(k.Context(), after, 1+random.IntN(50))
		k.must(err)
		for _, c := range changes {
			if noted[c.OrderID] {
				k.Fatalf("seed %d: %s was told twice", seed, c.OrderID)
			}
			noted[c.OrderID], after = true, c.Cursor
		}
		if time.Now().After(end) {
			k.Fatalf("seed %d: %d were told, want %d", seed, len(noted), sellers*each*2)
		}
	}
	k.wantIDs(after)
}

func testOutboxCursors(k *outboxKit) {
	for _, cursor := range []string{"x", "-1", "1.x", "x.1", "1.-1", " 1", "99999999999999999999", "99999999999999999999.1"} {
		if _, err := k.Outbox.Read(k.Context(), cursor, 1); err == nil || err.Error() != stock.BadCursor(cursor).Error() {
			k.Errorf("read after %q: %v", cursor, err)
		}
		if _, err := k.Outbox.Trim(k.Context(), cursor); err == nil || err.Error() != stock.BadCursor(cursor).Error() {
			k.Errorf("trim before %q: %v", cursor, err)
		}
	}
}

func testOutboxMissing(k *outboxKit) {
	k.must(k.Exec(k.Context(), `DROP TABLE outbox`))
	_, readErr := k.Outbox.Read(k.Context(), "", 1)
	_, trimErr := k.Outbox.Trim(k.Context(), "")
	for _, err := range []error{readErr, trimErr, k.Outbox.On(k.Context()), k.Outbox.Off(k.Context())} {
		if !errors.Is(err, stock.ErrNoOutbox) {
			k.Errorf("got %v", err)
		}
	}
}
