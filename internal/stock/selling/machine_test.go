package selling_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestMachine compares the whole service with a model in memory. Sequences of creates, deductions, reservations,
// commits, cancels, returns of parts, extensions, orders of several SKUs and their changes, restocks, adjustments, resegments and passing
// time, each sent to one of several processes, end as in the model. After every step the rows of the SKUs that it was about are
// as the model has them, and all rows at the end.
func TestMachine(t *testing.T) {
	for name, c := range map[string]struct {
		open      func(*testing.T) *world
		processes int
		locked    bool
	}{
		"embedded":               {embedded, 1, true}, // a SQLite file belongs to one process
		"real, three processes":  {real, 3, true},
		"real, guard alone, two": {real, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.open(t)
			w.clock, w.groups = newClock(), true
			if !c.locked {
				w.redis = nil
			}
			holdsToItsModel(t, w, c.processes)
		})
	}
}

// holdsToItsModel sends sequences to processes of a world, and compares them with the model.
func holdsToItsModel(t *testing.T, w *world, processes int) {
	t.Helper()
	services := make([]*selling.Service, processes)
	for i := range services {
		services[i] = w.start(nil)
	}
	round, failed := 0, false
	rapid.Check(t, func(t *rapid.T) {
		if round++; round > mostRounds() && !failed {
			return
		}
		done := false
		defer func() { failed = failed || !done }() // afterwards rapid runs it again and again, to find a shorter sequence
		m := &machine{
			world: w, services: services, prefix: fmt.Sprintf("round-%d-", round),
			model: model{
				skus: make(map[string]*modelSKU), orders: make(map[string]stock.MultiOrder), lines: make(map[string]map[string]bool),
				owners: make(map[string]string), changes: make(map[[2]string]stock.OrderChange),
			},
			unread: make(map[string]bool),
		}
		t.Repeat(rapid.StateMachineActions(m))
		m.unreadAll()
		m.Check(t)
		done = true
	})
}

// mostRounds bounds the sequences of one run, because each reads rows after every step. With -rapid.checks there
// are as many as that says.
func mostRounds() int {
	switch checks := flag.Lookup("rapid.checks"); {
	case checks.Value.String() != checks.DefValue:
		return math.MaxInt
	case testing.Short():
		return 3
	default:
		return 15
	}
}

// machine is a model and the services that should behave like it. Each round has its own SKUs and order ids.
type machine struct {
	world    *world
	services []*selling.Service
	prefix   string
	model    model
	unread   map[string]bool // the SKUs that the last step was about
}

func (m *machine) service(t *rapid.T) *selling.Service {
	return m.services[rapid.IntRange(0, len(m.services)-1).Draw(t, "process")]
}

func (m *machine) sku(t *rapid.T) string {
	sku := m.prefix + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "sku")
	m.unread[sku] = true
	return sku
}

func (m *machine) unreadAll() {
	for sku := range m.model.skus {
		m.unread[sku] = true
	}
}

func (m *machine) id(t *rapid.T) string {
	return m.prefix + fmt.Sprint(rapid.IntRange(0, 15).Draw(t, "id"))
}

func (m *machine) buyer(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "buyer")
}

func (m *machine) reserve(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute}).Draw(t, "reserve for")
}

// expect calls a service until the call ends as it may. A refusal may be true of up to a second before, until the
// service is notified of what another process has changed. So a refusal of a call that began later than that must be
// true.
func (m *machine) expect(t *rapid.T, what string, codes []stock.Code, call func(context.Context) error) bool {
	for mayBeOld := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		begun := time.Now()
		code, err := m.ask(call)
		if slices.Contains(codes, code) {
			m.names(t, what, err)
			return code == ""
		}
		if code != stock.CodeSoldOut && code != stock.CodeInsufficientStock || begun.After(mayBeOld) {
			t.Fatalf("%s: %v, want one of %q", what, err, codes)
		}
	}
}

// names holds the orders that a refusal by a buyer limit names to those of the model.
func (m *machine) names(t *rapid.T, what string, err error) {
	refusal, ok := errors.AsType[*stock.Error](err)
	if !ok || refusal.LimitOf == "" {
		return
	}
	want, got := m.model.skus[refusal.SKU].ordersOf(refusal.LimitOf), []string(nil)
	for range 10 { // without names, which a busy machine may not read in time, it is true as well
		if named, ok := errors.AsType[*stock.Error](m.services[0].NameOrders(m.world.t.Context(), err, "")); ok {
			got = named.OrderIDs
		}
		if slices.Equal(got, want) {
			return
		}
	}
	t.Fatalf("%s: %v names %q, want %q", what, err, got, want)
}

// ask makes a call. If it was not answered in time, it repeats the call to learn what happened.
func (m *machine) ask(call func(context.Context) error) (code stock.Code, err error) {
	err = patiently(m.world.t, func() error { return call(m.world.t.Context()) })
	return stock.CodeOf(err), err
}

// read is ask for calls that must succeed.
func (m *machine) read(t *rapid.T, what string, call func(context.Context) error) {
	if _, err := m.ask(call); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func (m *machine) sameDeduction(t *rapid.T, what string, got stock.Deduction, want *stock.Deduction) {
	got.Parts, got.InOrder = nil, false
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", *want) {
		t.Fatalf("%s:\ngot  %+v\nwant %+v", what, got, *want)
	}
}

func (m *machine) Create(t *rapid.T) {
	now := m.world.clock.now()
	n := stock.NewSKU{
		SKU: m.sku(t), Stock: rapid.Int64Range(0, 12).Draw(t, "stock"), Segments: rapid.IntRange(1, 5).Draw(t, "segments"),
		Terms: stock.Terms{
			PerBuyerLimit: rapid.SampledFrom([]int64{0, 3}).Draw(t, "limit"),
			MaxQuantity:   rapid.SampledFrom([]int64{0, 4}).Draw(t, "largest"),
			MaxReserveFor: rapid.SampledFrom([]time.Duration{0, 30 * time.Second}).Draw(t, "longest"),
		},
	}
	if n.PerBuyerLimit > 0 && m.world.groups {
		n.LimitGroup = rapid.SampledFrom([]string{"", m.prefix + "group"}).Draw(t, "limit group")
	}
	if rapid.IntRange(0, 3).Draw(t, "window") == 0 {
		n.SaleStartsAt, n.SaleEndsAt = now.Add(time.Second), now.Add(2*time.Minute)
	}
	s, codes := m.service(t), m.model.create(n)
	m.expect(t, fmt.Sprintf("create %+v", n), codes, func(ctx context.Context) error {
		_, _, err := s.CreateSKU(ctx, n)
		return err
	})
}

func (m *machine) Deduct(t *rapid.T) {
	o := stock.Order{OrderID: m.id(t), BuyerID: m.buyer(t), Quantity: rapid.Int64Range(1, 6).Draw(t, "quantity"), ReserveFor: m.reserve(t)}
	sku, s := m.sku(t), m.service(t)
	want, codes := m.model.deduct(sku, o, m.world.clock.now())
	what := fmt.Sprintf("deduct %s %+v", sku, o)
	var got stock.Deduction
	if m.expect(t, what, codes, func(ctx context.Context) (err error) {
		got, _, err = s.Deduct(ctx, sku, o)
		return err
	}) {
		m.sameDeduction(t, what, got, want)
	}
}

// request draws a request to settle something.
func (m *machine) request(t *rapid.T) (request stock.SettleRequest, late bool) {
	request = stock.SettleRequest{
		OrderID: m.id(t), BuyerID: m.buyer(t),
		Verb: rapid.SampledFrom([]stock.Verb{stock.Commit, stock.Commit, stock.Cancel, stock.Return, stock.Extend}).Draw(t, "verb"),
	}
	ref, part := rapid.SampledFrom([]string{"r", "s", "t"}).Draw(t, "ref"), rapid.Bool().Draw(t, "part")
	switch {
	case request.Verb == stock.Extend:
		request.Ref, request.ExtendFor = ref, rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, time.Minute}).Draw(t, "for")
	case request.Verb == stock.Commit && part:
		request.Quantity = rapid.Int64Range(0, 4).Draw(t, "quantity")
	case part:
		request.Ref, request.Quantity = ref, rapid.Int64Range(1, 4).Draw(t, "quantity")
	}
	request.WriteOff = request.Verb == stock.Return && rapid.Bool().Draw(t, "write off")
	request.OnlyExpired = request.Verb == stock.Commit && rapid.Bool().Draw(t, "only expired")
	return request, request.Verb == stock.Commit && rapid.Bool().Draw(t, "late")
}

func (m *machine) Settle(t *rapid.T) {
	request, late := m.request(t)
	sku, s := m.sku(t), m.service(t)
	want, codes := m.model.settle(sku, request, m.world.clock.now(), late)
	what := fmt.Sprintf("settle %s %+v %t", sku, request, late)
	var got stock.Deduction
	if m.expect(t, what, codes, func(ctx context.Context) (err error) {
		got, err = s.Settle(ctx, sku, request, late)
		return err
	}) {
		m.sameDeduction(t, what, got, want)
	}
}

func (m *machine) SettleOrder(t *rapid.T) {
	request, late := m.request(t)
	if request.Verb != stock.Extend {
		request.Quantity, request.Ref = 0, ""
	}
	s := m.service(t)
	want, codes := m.model.settleOrder(request, m.world.clock.now(), late)
	what := fmt.Sprintf("settle the order %+v %t", request, late)
	var got stock.PlacedOrder
	if m.expect(t, what, codes, func(ctx context.Context) (err error) {
		got, err = s.SettleOrder(ctx, request, late)
		return err
	}) {
		if len(got.Lines) != len(want) {
			t.Fatalf("%s: got %d lines, want %d", what, len(got.Lines), len(want))
		}
		for i := range want {
			m.sameDeduction(t, what, got.Lines[i], want[i])
		}
	}
}

func (m *machine) Order(t *rapid.T) {
	o := stock.MultiOrder{OrderID: m.id(t), BuyerID: m.buyer(t), ReserveFor: m.reserve(t)}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID[string]).Draw(t, "skus") {
		m.unread[m.prefix+name] = true
		o.Lines = append(o.Lines, stock.Line{SKU: m.prefix + name, Quantity: rapid.Int64Range(1, 4).Draw(t, "quantity")})
	}
	s := m.service(t)
	want, codes := m.model.order(o, m.world.clock.now())
	what := fmt.Sprintf("order %+v", o)
	var got []stock.Deduction
	if m.expect(t, what, codes, func(ctx context.Context) (err error) {
		got, _, err = s.Order(ctx, o)
		return err
	}) {
		if len(got) != len(want) {
			t.Fatalf("%s: %d lines, want %v", what, len(got), len(want))
		}
		for i := range got {
			m.sameDeduction(t, what, got[i], want[i])
		}
	}
}

func (m *machine) Move(t *rapid.T) {
	v := stock.Movement{
		SKU: m.sku(t), Ref: m.prefix + fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "ref")), Reason: "a reason",
		Kind: rapid.SampledFrom([]stock.MovementKind{stock.Restocked, stock.Adjusted, stock.Resegmented}).Draw(t, "kind"),
	}
	switch v.Kind {
	case stock.Resegmented:
		v.Segments = rapid.IntRange(1, 7).Draw(t, "segments")
	case stock.Adjusted:
		v.Quantity = rapid.SampledFrom([]int64{-5, -1, 2}).Draw(t, "units")
	default:
		v.Quantity = rapid.Int64Range(1, 5).Draw(t, "units")
	}
	s, codes := m.service(t), m.model.move(v)
	m.expect(t, fmt.Sprintf("move %+v", v), codes, func(ctx context.Context) error {
		_, err := s.Move(ctx, v)
		return err
	})
}

func (m *machine) Wait(t *rapid.T) {
	m.world.clock.advance(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute}).Draw(t, "for"))
	m.model.expire(m.world.clock.now())
	m.unreadAll()
}

// Check compares what the last step may have changed with the model.
func (m *machine) Check(t *rapid.T) {
	s := m.services[0]
	for _, sku := range slices.Sorted(maps.Keys(m.unread)) { // in the same order whenever a sequence is replayed
		want, known := m.model.skus[sku]
		if !known {
			continue
		}
		m.read(t, "audit of "+sku, func(ctx context.Context) error {
			audit, err := s.Audit(ctx, sku)
			if err == nil && !audit.OK() {
				err = fmt.Errorf("%+v", audit)
			}
			return err
		})
		var got stock.Status
		m.read(t, "read "+sku, func(ctx context.Context) (err error) {
			if got, err = s.SKU(ctx, sku); err == nil && got.Stale {
				err = stock.Unavailable(context.DeadlineExceeded, "give back what has expired") // otherwise it would not be retried
			}
			return err
		})
		var reserved, committed int64
		var ids []string
		for id, d := range want.deductions {
			switch d.Status {
			case stock.StatusReserved:
				reserved += d.Quantity
			case stock.StatusCommitted:
				committed += d.Quantity
			}
			ids = append(ids, id)
		}
		m.checkDeductions(t, sku, ids)
		figures := fmt.Sprint(got.Stock, got.Available, got.Reserved, got.Committed, len(got.Segments), got.Layout, got.Terms)
		if expected := fmt.Sprint(want.put, want.available, reserved, committed, want.segments, want.layout, want.created.Terms); figures != expected {
			t.Fatalf("%s: stock, available, reserved, committed, segments, layout, terms\ngot  %s\nwant %s", sku, figures, expected)
		}
		m.checkLedger(t, sku, want)
	}
	clear(m.unread)
}

// checkDeductions compares all deductions, and reads one with its parts.
func (m *machine) checkDeductions(t *rapid.T, sku string, ids []string) {
	if len(ids) == 0 {
		return
	}
	var rows map[string]stock.Deduction
	m.read(t, "rows of "+sku, func(ctx context.Context) (err error) {
		rows, err = m.world.store.Deductions(ctx, sku, ids)
		return err
	})
	if len(rows) != len(ids) {
		t.Fatalf("%d rows of %s, want %d", len(rows), sku, len(ids))
	}
	want := m.model.skus[sku].deductions
	for id, row := range rows {
		m.sameDeduction(t, "row "+id, row, want[id])
	}
	slices.Sort(ids)
	id := rapid.SampledFrom(ids).Draw(t, "read")
	s := m.service(t)
	var read stock.Deduction
	m.read(t, "read "+id+" of "+sku, func(ctx context.Context) (err error) {
		read, err = s.Deduction(ctx, sku, id, "")
		return err
	})
	if sumOfParts(read) != want[id].Quantity {
		t.Fatalf("read %s of %s: %+v", id, sku, read)
	}
	m.sameDeduction(t, "read "+id, read, want[id])
}

func (m *machine) checkLedger(t *rapid.T, sku string, want *modelSKU) {
	var ledger []stock.Movement
	m.read(t, "ledger of "+sku, func(ctx context.Context) (err error) {
		ledger, err = m.services[0].Movements(ctx, sku, stock.Position{}, selling.MaxPage)
		return err
	})
	if !slices.EqualFunc(ledger, want.movements, func(got, want stock.Movement) bool { return got.CheckReplay(want) == nil }) {
		t.Fatalf("ledger of %s:\ngot  %+v\nwant %+v", sku, ledger, want.movements)
	}
}
