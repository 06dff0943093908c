package sqlite_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// TestAgreesWithModel lets the store do everything it can at random, on two SKUs, and compares every answer and all
// that can be read with a model without segments.
func TestAgreesWithModel(t *testing.T) {
	store := openFile(t, stocktest.SQLiteFile(t))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for n := range 4 {
		newGame(t, store, fmt.Sprintf("game-%d", n), rand.New(rand.NewPCG(seed, uint64(n)))).play(40)
	}
}

// game is one run of the test.
type game struct {
	t      *testing.T
	random *rand.Rand
	store  *sqlite.Store
	at     time.Time
	name   string
	models [2]*model
	placed map[string]bool // the ids of orders of several SKUs
}

func newGame(t *testing.T, store *sqlite.Store, name string, random *rand.Rand) *game {
	t.Helper()
	g := &game{t: t, random: random, store: store, name: name, placed: make(map[string]bool)}
	g.at = time.Date(2026, 5, 4, 3, 2, 1, 123_456_000, time.UTC)
	for i := range g.models {
		g.models[i] = g.create(fmt.Sprintf("%s-%d", g.name, i))
	}
	return g
}

func (g *game) play(moves int) {
	for range moves {
		oneOf(g, g.deduct, g.deduct, g.merge, g.settle, g.settle, g.expire, g.order, g.restock, g.adjust, g.resegment)()
		g.at = g.at.Add(time.Duration(g.between(0, 2)) * time.Second / 2) // also at the instant at which a reservation expires
		for _, m := range g.models {
			m.agrees(g.t, g.at)
		}
	}
}

func (g *game) create(sku string) *model {
	m := &model{
		store: g.store, sku: sku, layout: 1, rows: make(map[string]stock.Deduction),
		limit: oneOf[int64](g, 0, 8), stock: int64(g.between(0, 40)),
	}
	_, err := g.store.CreateSKU(g.t.Context(), stock.NewSKU{
		SKU: sku, Stock: m.stock, Segments: g.between(1, 4), Terms: stock.Terms{PerBuyerLimit: m.limit},
	}, g.at)
	if err != nil {
		g.t.Fatal(err)
	}
	return m
}

func (g *game) model() *model { return oneOf(g, g.models[:]...) }

func (g *game) between(low, high int) int { return low + g.random.IntN(high-low+1) }

func oneOf[T any](g *game, from ...T) T { return from[g.random.IntN(len(from))] }

// ids draws different ids from so few that they come again.
func (g *game) ids(n int) []string {
	ids := make([]string, n)
	for i, at := range g.random.Perm(12)[:n] {
		ids[i] = fmt.Sprintf("%s-%d", g.name, at)
	}
	return ids
}

var buyers = []string{"x", "y", "z"}

// orders draws orders of different buyers and ids.
func (g *game) orders() []stock.Order {
	orders := make([]stock.Order, g.between(1, len(buyers)))
	chosen := g.ids(len(orders))
	for i := range orders {
		orders[i] = stock.Order{
			OrderID: chosen[i], BuyerID: buyers[i],
			Quantity:   int64(g.between(1, 9)),
			ReserveFor: oneOf(g, 0, time.Second, 3*time.Second),
		}
	}
	return orders
}

func (g *game) deduct() {
	m := g.model()
	levels := m.look(g.t).Segments
	batch := stock.Batch{
		SKU: m.sku, Layout: m.layout, Limit: m.limit, At: g.at, Orders: g.orders(),
		Segment: g.between(0, len(levels)-1),
	}
	got, err := g.store.Deduct(g.t.Context(), batch)
	if err != nil {
		g.t.Fatal(err)
	}
	want := stock.BatchResult{At: g.at}
	want.Outcomes, want.Available = m.takeAll(batch.Orders, levels[batch.Segment], g.at)
	for _, o := range want.Outcomes {
		if until := m.until(); o.Kind == stock.Limited && !until.IsZero() && !g.at.Before(until) {
			want.Stale = true
		}
	}
	got.Segments, got.NextExpiry = nil, time.Time{} // of a merge
	equal(g.t, "batch", got, want)
}

func (g *game) merge() {
	m := g.model()
	merge := stock.Batch{SKU: m.sku, Layout: m.layout, Limit: m.limit, At: g.at, Orders: g.orders()}
	got, err := g.store.Merge(g.t.Context(), merge)
	if err != nil {
		g.t.Fatal(err)
	}
	want := stock.BatchResult{Merged: got.Merged, Segments: got.Segments, At: g.at, Expired: m.sweep(g.at)}
	var rest int64
	want.Outcomes, rest = m.takeAll(merge.Orders, m.available(g.at), g.at)
	if want.Available = rest; rest == 0 {
		want.NextExpiry = m.until()
	}
	equal(g.t, "merge", got, want)
	equal(g.t, "left by a merge", sum(got.Segments), rest)
}

func (g *game) settle() {
	m := g.model()
	s := stock.Settlement{SKU: m.sku, At: g.at}
	for _, id := range g.ids(g.between(1, 3)) {
		request := stock.SettleRequest{OrderID: id, Verb: oneOf(g, stock.Commit, stock.Cancel, stock.Return), BuyerID: oneOf(g, "", "", "x"), InOrder: g.placed[id]}
		if request.Verb == stock.Commit {
			request.Quantity = oneOf[int64](g, 0, 1, 3, 5)
		}
		s.Requests = append(s.Requests, request)
	}
	got, err := g.store.Settle(g.t.Context(), s)
	if err != nil {
		g.t.Fatal(err)
	}
	for i, request := range s.Requests {
		after, code := m.settle(request, g.at)
		got[i].Deduction.Parts = nil
		equal(g.t, "settled", got[i].Deduction, after)
		if (code == "") != (got[i].Err == nil) || stock.CodeOf(got[i].Err) != code {
			g.t.Fatalf("settled %+v: got %v, want %q", request, got[i].Err, code)
		}
	}
}

func (g *game) expire() {
	m := g.model()
	got, err := g.store.Expire(g.t.Context(), m.sku, g.at)
	if err != nil {
		g.t.Fatal(err)
	}
	equal(g.t, "expired", got, m.sweep(g.at))
}

// order places a line on each SKU, and sometimes an order that was placed before.
func (g *game) order() {
	p := g.placement()
	if g.placed[p.Order.OrderID] {
		p.Order.Lines[0].Quantity = 10 // a different quantity from before
	}
	got, created, err := g.store.Order(g.t.Context(), p)
	if errors.Is(err, stock.ErrSpread) {
		for i := range p.Lines {
			p.Lines[i].Segment = stock.AllSegments
		}
		got, created, err = g.store.Order(g.t.Context(), p)
	}
	want, code := g.place(p)
	if stock.CodeOf(err) != code || created != (code == "") {
		g.t.Fatalf("order: got %v, %v, want %q", created, err, code)
	}
	if code == "" {
		g.placed[p.Order.OrderID] = true
		equal(g.t, "lines", got, want)
		if got, created, err = g.store.Order(g.t.Context(), p); err != nil || created {
			g.t.Fatalf("order again: %v, %v", created, err)
		}
		equal(g.t, "lines again", got, want)
		p.Order.Lines[0].Quantity++
		_, _, err = g.store.Order(g.t.Context(), p)
		equal(g.t, "changed order", stock.CodeOf(err), stock.CodeOrderIDReused)
	}
}

func (g *game) placement() stock.Placement {
	o := g.orders()[0]
	p := stock.Placement{At: g.at, Order: stock.MultiOrder{OrderID: o.OrderID, BuyerID: o.BuyerID, ReserveFor: o.ReserveFor}}
	for _, m := range g.models {
		p.Order.Lines = append(p.Order.Lines, stock.Line{SKU: m.sku, Quantity: int64(g.between(1, 5))})
		segments := len(m.look(g.t).Segments)
		p.Lines = append(p.Lines, stock.PlacedLine{Batch: stock.Batch{
			Layout: m.layout, Limit: m.limit, Segment: g.between(-1, segments-1),
		}})
	}
	return p
}

// place decides an order by the models. A line from all segments ends expired reservations first, and nothing changes if one line is
// refused. If a SKU knows the order id, that comes before other refusals.
func (g *game) place(p stock.Placement) (lines []stock.Deduction, code stock.Code) {
	var before [2]map[string]stock.Deduction
	for i, m := range g.models {
		before[i] = maps.Clone(m.rows)
	}
	for i, m := range g.models {
		if p.Lines[i].Segment == stock.AllSegments {
			m.sweep(g.at)
		}
		line := stock.Order{
			OrderID: p.Order.OrderID, BuyerID: p.Order.BuyerID, Quantity: p.Order.Lines[i].Quantity, ReserveFor: p.Order.ReserveFor,
		}
		left := m.available(g.at)
		outcome := m.takeOrder(line, left, g.at)
		if outcome.Kind != stock.Accepted {
			code = refusal(outcome)
			for i, m := range g.models {
				m.rows = before[i]
				if _, known := m.rows[p.Order.OrderID]; known {
					code = stock.CodeOrderIDReused
				}
			}
			return nil, code
		}
		lines = append(lines, outcome.Deduction)
	}
	return lines, ""
}

func refusal(o stock.Outcome) stock.Code {
	switch {
	case o.Kind == stock.Known:
		return stock.CodeOrderIDReused
	case o.Kind == stock.Limited:
		return stock.CodeBuyerLimit
	case o.Available == 0:
		return stock.CodeSoldOut
	default:
		return stock.CodeInsufficientStock
	}
}

// movement draws a movement with a new ref.
func (g *game) movement(m *model) stock.Movement {
	m.refs++
	return stock.Movement{SKU: m.sku, Ref: fmt.Sprint(m.refs), Reason: "a reason", At: g.at}
}

func (g *game) restock() {
	m := g.model()
	move := g.movement(m)
	move.Kind, move.Quantity = stock.Restocked, int64(g.between(1, 9))
	for _, want := range []bool{true, false} {
		if created, err := g.store.Move(g.t.Context(), move); err != nil || created != want {
			g.t.Fatalf("restock: %v, %v", created, err)
		}
	}
	m.stock += move.Quantity
}

func (g *game) adjust() {
	m := g.model()
	move := g.movement(m)
	move.Kind, move.Quantity = stock.Adjusted, oneOf[int64](g, -20, -5, -2, -1, 1, 3)
	created, err := g.store.Move(g.t.Context(), move)
	if available := m.available(g.at); available+move.Quantity < 0 {
		var refused *stock.Error
		if !errors.As(err, &refused) || refused.Code != stock.CodeInsufficientStock || refused.Available != available {
			g.t.Fatalf("adjust by %d with %d: %v", move.Quantity, available, err)
		}
		return
	}
	if err != nil || !created {
		g.t.Fatalf("adjust: %v, %v", created, err)
	}
	if move.Quantity < 0 {
		m.sweep(g.at)
	}
	m.stock += move.Quantity
}

func (g *game) resegment() {
	m := g.model()
	stale := stock.Batch{SKU: m.sku, Layout: m.layout, Limit: m.limit, At: g.at, Orders: g.orders()}
	move := g.movement(m)
	move.Kind, move.Segments = stock.Resegmented, g.between(1, 5)
	for _, want := range []bool{true, false} {
		if created, err := g.store.Move(g.t.Context(), move); err != nil || created != want {
			g.t.Fatalf("resegment: %v, %v", created, err)
		}
	}
	m.layout++
	m.sweep(g.at)
	equal(g.t, "segments", len(m.look(g.t).Segments), move.Segments)
	if _, err := g.store.Deduct(g.t.Context(), stale); !errors.Is(err, stock.ErrLayout) {
		g.t.Fatalf("a batch for the layout before: %v", err)
	}
}
