package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// callKey is the key of a counter in the context of a call.
type callKey struct{}

// tripsOfCalls counts the messages of calls whose contexts have a counter.
type tripsOfCalls struct{ trips }

// TraceQueryStart implements [pgx.QueryTracer].
func (*tripsOfCalls) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return counted(ctx)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (*tripsOfCalls) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return counted(ctx)
}

func counted(ctx context.Context) context.Context {
	if n, has := ctx.Value(callKey{}).(*atomic.Int64); has {
		n.Add(1)
	}
	return ctx
}

// TestAnOrderIsSettledInOneRoundTrip: a service commits, cancels and extends the usual basket, also a buyer's, in one message. It
// looks up what it does not settle at once.
func TestAnOrderIsSettledInOneRoundTrip(t *testing.T) {
	t.Parallel()
	s := openSharersBy(t, 3, postgres.OpenPatiently)
	store, err := postgres.OpenPatiently(t.Context(), s.url, 0, func(c *pgxpool.Config) { c.ConnConfig.Tracer = &tripsOfCalls{} })
	if err != nil {
		t.Fatal(err)
	}
	service := selling.NewService(selling.Config{Store: store, AnswerWithin: busytest.Patience})
	t.Cleanup(func() {
		if err := errors.Join(service.Close(context.WithoutCancel(t.Context())), store.Close()); err != nil {
			t.Error(err)
		}
	})
	settle := func(request stock.SettleRequest, want stock.DeductionStatus) (trips int64) {
		t.Helper()
		var sent atomic.Int64
		there, err := service.SettleOrder(context.WithValue(t.Context(), callKey{}, &sent), request, false)
		if err != nil || len(there.Lines) != 3 || there.Lines[2].SKU != "c" || there.Lines[2].Status != want || there.Lines[2].OrderID != "o" || there.BuyerID != "x" {
			t.Fatalf("got %+v, %v, want three lines, %s", there, err, want)
		}
		return sent.Load()
	}
	for _, buyer := range []string{"", "x"} {
		for _, own := range []bool{false, true} {
			for name, end := range map[string]stock.Verb{"commit": stock.Commit, "cancel": stock.Cancel} {
				if own && buyer == "" {
					continue
				}
				s.exec(`TRUNCATE orders, order_lines, deductions, deduction_parts, amendments`)
				_, _, err := service.Order(t.Context(), stock.MultiOrder{
					OrderID: "o", BuyerID: "x", Own: own, ReserveFor: time.Minute,
					Lines: []stock.Line{{SKU: "c", Quantity: 1}, {SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 1}},
				})
				if err != nil {
					t.Fatal(err)
				}
				extend := stock.SettleRequest{OrderID: "o", BuyerID: buyer, Verb: stock.Extend, Ref: "r", ExtendFor: time.Hour}
				if trips := settle(extend, stock.StatusReserved); trips != 1 {
					t.Errorf("extend, buyer %q, own %t: %d round trips, not 1", buyer, own, trips)
				}
				ends := map[stock.Verb]stock.DeductionStatus{stock.Commit: stock.StatusCommitted, stock.Cancel: stock.StatusCancelled}[end]
				if trips := settle(stock.SettleRequest{OrderID: "o", BuyerID: buyer, Verb: end}, ends); trips != 1 {
					t.Errorf("%s, buyer %q, own %t: %d round trips, not 1", name, buyer, own, trips)
				}
				if trips := settle(stock.SettleRequest{OrderID: "o", BuyerID: buyer, Verb: end}, ends); trips < 3 {
					t.Errorf("%s again: %d round trips", name, trips)
				}
			}
		}
	}
}

// when is the instant of decisions that are compared.
var when = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

// reservedBasket is an order of two units of a, three of b and one of c for a minute.
func reservedBasket(id string) stock.Placement {
	p := several(id, "a", "b", "c")
	p.At, p.Order.ReserveFor = when, time.Minute
	p.Order.Lines[0].Quantity, p.Order.Lines[1].Quantity = 2, 3
	return p
}

// mustPlace places an order.
func (s *sharers) mustPlace(p stock.Placement) {
	s.t.Helper()
	if a := <-s.place(p); a.err != nil || !a.created {
		s.t.Fatalf("place: %+v", a)
	}
}

// dump returns all rows that settlements change, but the instants and transactions of the outbox.
func (s *sharers) dump() string {
	s.t.Helper()
	var all string
	err := s.connect().QueryRow(s.t.Context(), `
		SELECT string_agg(line, E'\n' ORDER BY line) FROM (
			SELECT 'deductions ' || d::text AS line FROM deductions d UNION ALL SELECT 'segments ' || g::text FROM stock_segments g
			UNION ALL SELECT 'skus ' || sku_id || ' ' || kept FROM skus UNION ALL SELECT 'buyers ' || n::text FROM buyers n
			UNION ALL SELECT 'amendments ' || a::text FROM amendments a UNION ALL SELECT 'parts ' || p::text FROM deduction_parts p
			UNION ALL SELECT 'outbox ' || concat_ws(' ', position, sku_id, order_id, buyer_id, quantity, status, written_off) FROM outbox) AS found`).Scan(&all)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// wholeOrder are requests of a whole order.
func wholeOrder(verb stock.Verb) stock.OrderSettlement {
	request := stock.SettleRequest{OrderID: "o", Verb: verb, InOrder: true}
	if verb == stock.Extend {
		request.Ref, request.ExtendFor, request.MostExtend, request.Reason = "r", time.Hour, 2*time.Hour, "late"
	}
	return stock.OrderSettlement{Request: request, Keys: []string{"o"}, At: when.Add(time.Second)}
}

// TestAnOrderSettledAtOnceIsAsOneThatWasLookedUp: the answers are the same, and every row.
func TestAnOrderSettledAtOnceIsAsOneThatWasLookedUp(t *testing.T) {
	t.Parallel()
	for name, requests := range map[string][]stock.OrderSettlement{
		"commit":              {wholeOrder(stock.Commit)},
		"cancel":              {wholeOrder(stock.Cancel)},
		"extend, then commit": {wholeOrder(stock.Extend), wholeOrder(stock.Commit)},
		"extend, then cancel": {wholeOrder(stock.Extend), wholeOrder(stock.Cancel)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answers, rows [2]string
			for way := range 2 {
				s := openSharersBy(t, 3, postgres.OpenPatiently)
				if err := s.store.Outbox().On(t.Context()); err != nil {
					t.Fatal(err)
				}
				basket := reservedBasket("o")
				basket.Lines[1].Segment, basket.Order.Lines[1].Quantity = -1, 15 // from both segments
				s.mustPlace(basket)
				listener := s.connect()
				if _, err := listener.Exec(t.Context(), `LISTEN inventory_restocked`); err != nil {
					t.Fatal(err)
				}
				for _, o := range requests {
					if way == 1 {
						o.SKUs = []string{"a", "b", "c"}
					}
					results, err := s.store.SettleOrder(t.Context(), o)
					if err != nil || len(results) != 3 {
						t.Fatalf("got %+v, %v, want three lines", results, err)
					}
					answers[way] += fmt.Sprintf("%+v\n", results)
				}
				if requests[len(requests)-1].Request.Verb == stock.Cancel {
					for _, sku := range []string{"a", "b", "c"} {
						told, err := listener.WaitForNotification(t.Context())
						if err != nil || told.Payload != sku {
							t.Errorf("told of %+v, %v, want %s", told, err, sku)
						}
					}
				}
				rows[way] = s.dump()
			}
			if answers[0] != answers[1] {
				t.Errorf("at once:\n%s\nlooked up:\n%s", answers[0], answers[1])
			}
			if rows[0] != rows[1] {
				t.Errorf("at once:\n%s\nlooked up:\n%s", rows[0], rows[1])
			}
		})
	}
}

// TestAnUnusualOrderIsNotSettledAtOnce: nothing is written, and the order is settled when it has been looked up.
func TestAnUnusualOrderIsNotSettledAtOnce(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	type unusual struct {
		exec   string // before the settlement
		placed func(*stock.Placement)
		asked  func(*stock.OrderSettlement)
		verbs  string // of commit, cancel and extend, those that are not settled at once
	}
	merged := func(p *stock.Placement) { p.Lines[1].Segment, p.Order.Lines[1].Quantity = -1, 15 }
	late := func(o *stock.OrderSettlement) { o.At = when.Add(time.Minute) }
	for name, c := range map[string]unusual{
		"it is usual":                    {},
		"there is none":                  {exec: `DELETE FROM orders`, verbs: "commit cancel extend"},
		"it was pruned":                  {exec: `UPDATE orders SET pruned = true`, verbs: "commit cancel extend"},
		"it has expired":                 {asked: late, verbs: "commit cancel extend"},
		"one line has expired":           {exec: `UPDATE deductions SET expires_at = created_at WHERE sku_id = 'b'`, verbs: "commit cancel extend"},
		"one line was committed before":  {exec: `UPDATE deductions SET status = 'committed' WHERE sku_id = 'b'`, verbs: "commit cancel extend"},
		"one line has no deduction":      {exec: `DELETE FROM deductions WHERE sku_id = 'b'`, verbs: "commit cancel extend"},
		"it is another buyer's":          {asked: func(o *stock.OrderSettlement) { o.Request.BuyerID = "y" }, verbs: "commit cancel extend"},
		"it is the second of the keys":   {asked: func(o *stock.OrderSettlement) { o.Keys = []string{"none", "o"} }},
		"a buyer is counted":             {placed: func(p *stock.Placement) { p.Lines[2].Limit = 5 }, verbs: "cancel"},
		"a line is merged":               {placed: merged},
		"a part's segment has gone":      {placed: merged, exec: `UPDATE deduction_parts SET segment = 2 WHERE segment = 1`, verbs: "cancel"},
		"a segment has gone":             {exec: `UPDATE deductions SET segment = 2 WHERE sku_id = 'b'`, verbs: "cancel"},
		"a part is asked for":            {asked: func(o *stock.OrderSettlement) { o.Request.Quantity, o.Request.Ref = 1, "part" }, verbs: "commit cancel"},
		"it is longer than a SKU allows": {exec: `UPDATE skus SET max_reserve_us = 60000000 WHERE sku_id = 'c'`, verbs: "extend"},
		"it is longer than any may be":   {asked: func(o *stock.OrderSettlement) { o.Request.MostExtend = time.Minute }, verbs: "extend"},
		"it ends later anyway":           {exec: `UPDATE deductions SET expires_at = expires_at + interval '1 day' WHERE sku_id = 'c'`, verbs: "extend"},
		"the ref is known":               {exec: `INSERT INTO amendments VALUES ('b', 'o', 'r', NULL, 1, now(), 'extend')`, verbs: "extend"},
		"units are written off":          {asked: func(o *stock.OrderSettlement) { o.Request.Verb, o.Request.WriteOff = stock.Return, true }, verbs: "commit cancel extend"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSharersBy(t, 3, postgres.OpenPatiently)
			for verb, word := range map[stock.Verb]string{stock.Commit: "commit", stock.Cancel: "cancel", stock.Extend: "extend"} {
				s.exec(`TRUNCATE orders, order_lines, deductions, deduction_parts, amendments, buyers`)
				p := reservedBasket("o")
				if c.placed != nil {
					c.placed(&p)
				}
				s.exec(`UPDATE stock_segments SET available = 10`)
				s.mustPlace(p)
				s.exec(c.exec)
				o := wholeOrder(verb)
				if c.asked != nil {
					c.asked(&o)
				}
				before := s.dump()
				results, err := s.store.SettleOrder(t.Context(), o)
				after := s.dump()
				if unusual := slices.Contains(strings.Fields(c.verbs), word); err != nil || unusual != (results == nil) || unusual != (before == after) {
					t.Errorf("%s: got %+v, %v, and after\n%s\nthere is\n%s", word, results, err, before, after)
				}
			}
		})
	}
}

// TestTheFirstKeyOfAnOrderIsSettledAtOnce: a buyer's own order counts before the shop's order of the same id.
func TestTheFirstKeyOfAnOrderIsSettledAtOnce(t *testing.T) {
	t.Parallel()
	s := openSharersBy(t, 3, postgres.OpenPatiently)
	s.mustPlace(reservedBasket("o"))
	s.mustPlace(reservedBasket("own"))
	o := wholeOrder(stock.Commit)
	o.Keys = []string{"own", "o"}
	if results, err := s.store.SettleOrder(t.Context(), o); err != nil || len(results) != 3 || results[0].Deduction.OrderID != "own" {
		t.Errorf("got %+v, %v, want the first one", results, err)
	}
}

// TestAnOrderThatChangesIsNotSettledAtOnce: while the statement waits for a row, another transaction changes what it rests on.
func TestAnOrderThatChangesIsNotSettledAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verb    stock.Verb
		changes string
	}{
		"a line is cancelled": {stock.Commit, `UPDATE deductions SET status = 'cancelled' WHERE sku_id = 'b'`},
		"a line is extended":  {stock.Extend, `UPDATE deductions SET expires_at = expires_at + interval '1 day' WHERE sku_id = 'b'`},
		"buyers are counted": {stock.Cancel, `UPDATE stock_segments SET layout = layout + 1 WHERE sku_id = 'b';
			UPDATE skus SET per_buyer_limit = 5 WHERE sku_id = 'b'; INSERT INTO buyers VALUES ('b', 'x', 3, 5)`},
		"its segment goes": {stock.Cancel, `DELETE FROM stock_segments WHERE sku_id = 'b' AND segment = 0`},
		"the ref is used":  {stock.Extend, `UPDATE deductions SET status = status WHERE sku_id = 'b'; INSERT INTO amendments VALUES ('b', 'o', 'r', NULL, 1, now(), 'extend')`},
		"it never ends":    {stock.Commit, `UPDATE deductions SET status = status WHERE sku_id = 'b'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSharersBy(t, 3, postgres.OpenPatiently)
			s.mustPlace(reservedBasket("o"))
			s.exec("BEGIN; " + c.changes)
			got := make(chan settled, 1)
			go func() {
				results, err := s.store.SettleOrder(t.Context(), wholeOrder(c.verb))
				got <- settled{results, err}
			}()
			blocking(t, s.conn, got)
			if name != "it never ends" {
				s.exec("COMMIT")
			}
			if a := <-got; a.results != nil || a.err != nil {
				t.Errorf("got %+v, want nothing", a)
			}
			if !strings.Contains(s.dump(), "deductions (a,o,x,2,0,reserved,") {
				t.Errorf("something is written:\n%s", s.dump())
			}
		})
	}
}

// TestAnOrderAtOnceIsDecidedWhenItHasItsRows: it waits for the last one until its reservation has expired, or until its deadline.
func TestAnOrderAtOnceIsDecidedWhenItHasItsRows(t *testing.T) {
	t.Parallel()
	for name, holds := range map[string]string{
		"expired": `SELECT FROM deductions WHERE sku_id = 'c' FOR UPDATE`,
		"late":    `SELECT FROM skus WHERE sku_id = 'c' FOR UPDATE`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSharersBy(t, 3, postgres.OpenPatiently)
			o, p := wholeOrder(stock.Commit), reservedBasket("o")
			p.At, o.At = time.Time{}, time.Time{}
			if name == "expired" {
				p.Order.ReserveFor = soonOver
			}
			s.mustPlace(p)
			s.exec("BEGIN; " + holds)
			if name == "late" {
				o.Deadline = time.Now().Add(soonOver)
			}
			got := make(chan settled, 1)
			go func() {
				results, err := s.store.SettleOrder(t.Context(), o)
				got <- settled{results, err}
			}()
			blocking(t, s.conn, got)
			s.exec(`SELECT pg_sleep(0.3); ROLLBACK`) // longer than soonOver by the server's clock
			if a := <-got; a.results != nil || a.err != nil {
				t.Errorf("got %+v, want nothing", a)
			}
			if d, err := s.store.Deduction(t.Context(), "a", "o"); err != nil || d.Status != stock.StatusReserved {
				t.Errorf("the line is %+v, %v", d, err)
			}
		})
	}
}
