package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// trips counts the messages of statements, each of which waits for its answer.
type trips struct{ atomic.Int64 }

// TraceQueryStart implements [pgx.QueryTracer].
func (n *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	n.Add(1)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (n *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements [pgx.BatchTracer].
func (n *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	n.Add(1)
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (n *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (n *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// openTraced opens a store whose messages a tracer sees.
func openTraced(t *testing.T, url string, sent pgx.QueryTracer) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, 0, func(c *pgxpool.Config) { c.ConnConfig.Tracer = sent })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// TestALargeOrderTakesFewRoundTrips: an order that is written alone holds the rows of all its SKUs meanwhile.
func TestALargeOrderTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		const lines, most = 100, 6
		s, sent := openSharers(t, 0), &trips{}
		store := openTraced(t, s.url, sent)
		var skus []string
		for n := range lines {
			skus = append(skus, fmt.Sprintf("sku-%03d", n))
			if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: skus[n], Stock: 20, Segments: 2}, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		for name, line := range map[string]stock.Batch{
			"from a segment":       {Layout: 1, Limit: 5},
			"in a sale":            {Layout: 1, Limit: 5, SaleWindow: stock.SaleWindow{EndsAt: store.Now().Add(time.Hour)}},
			"from all segments":    {Layout: 1, Segment: -1},
			"of a limit, from all": {Layout: 1, Segment: -1, Limit: 5},
		} {
			p := several(name, skus...)
			for n := range p.Lines {
				p.Lines[n].Batch = line
			}
			sent.Store(0)
			taken, created, err := store.Order(t.Context(), p)
			if err != nil || !created || len(taken) != lines {
				t.Fatalf("%s: %d lines, %t, %v", name, len(taken), created, err)
			}
			if n := sent.Load(); n > most {
				t.Errorf("an order of %d lines %s takes %d round trips, not at most %d", lines, name, n, most)
			}
		}
	})
}

// TestAUsualChangeTakesOneRoundTrip: the change of a reserved or committed order is one message. One that takes back a line that was removed
// is made in a transaction.
func TestAUsualChangeTakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s, sent := openSharers(t, 0), &trips{}
		store := openTraced(t, s.url, sent)
		for _, sku := range []string{"a", "b", "c"} {
			if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 20, Segments: 2}, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		for id, reserve := range map[string]time.Duration{"reserved": time.Hour, "committed": 0} {
			p := several(id, "a", "b")
			p.Order.ReserveFor = reserve
			if _, created, err := store.Order(t.Context(), p); err != nil || !created {
				t.Fatal(created, err)
			}
			changes := func(ref string, most int64, lines ...stock.Line) {
				t.Helper()
				there, err := store.PlacedOrder(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				r := stock.Revision{Change: stock.OrderChange{OrderID: id, Ref: ref, Lines: lines, NewBuyer: "ann"}, Order: *there}
				views, err := store.Views(t.Context(), "a", "b", "c")
				if err != nil {
					t.Fatal(err)
				}
				for _, sku := range []string{"a", "b", "c"} {
					line := stock.RevisedLine{Batch: stock.Batch{SKU: sku, Layout: views[sku].Layout}, Levels: views[sku].Segments}
					of := func(d stock.Deduction) bool { return d.SKU == sku }
					if at := slices.IndexFunc(there.Lines, of); at >= 0 {
						line.Was = there.Lines[at].Quantity
					} else if r.Change.Units(sku) == 0 {
						continue
					}
					r.Lines = append(r.Lines, line)
				}
				sent.Store(0)
				if done, err := store.ChangeOrder(t.Context(), r); err != nil || !done.Created {
					t.Fatal(id, ref, done.Created, err)
				}
				if n := sent.Load(); n > most {
					t.Errorf("change %q of a %s order takes %d round trips, not at most %d", ref, id, n, most)
				}
			}
			changes("grows", 1, stock.Line{SKU: "a", Quantity: 2}, stock.Line{SKU: "b", Quantity: 3})
			changes("swaps", 1, stock.Line{SKU: "a", Quantity: 1}, stock.Line{SKU: "c", Quantity: 1})
			changes("takes back what it has removed", 5, stock.Line{SKU: "b", Quantity: 1})
			audit, err := store.Audit(t.Context(), "", nil)
			if err != nil || !audit.OK() {
				t.Fatalf("%+v, %v", audit, err)
			}
		}
	})
}

// patience notes how long the message may take in which an order waits for its rows.
type patience struct {
	trips
	left time.Duration
}

// TraceBatchStart implements [pgx.BatchTracer].
func (p *patience) TraceBatchStart(ctx context.Context, _ *pgx.Conn, sent pgx.TraceBatchStartData) context.Context {
	lines := func(q *pgx.QueuedQuery) bool { return q.SQL == postgres.Statements().Of("insert_lines").Text }
	if until, has := ctx.Deadline(); has && slices.ContainsFunc(sent.Batch.QueuedQueries, lines) {
		p.left = time.Until(until)
	}
	return ctx
}

// TestALargeOrderWaitsAsLongAsItsCaller: it waits for the rows of all its lines in one message.
func TestALargeOrderWaitsAsLongAsItsCaller(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s, sent := openSharers(t, 2), &patience{}
		store := openTraced(t, s.url, sent)
		p := several("o", "a", "b")
		p.Lines[0].Limit = 1
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, created, err := store.Order(ctx, p); err != nil || !created {
			t.Fatal(created, err)
		}
		if sent.left < time.Minute {
			t.Errorf("it waits for %s at most", sent.left)
		}
	})
}
