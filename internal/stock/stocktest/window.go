package stocktest

import (
	"fmt"
	"testing"
	"time"

	"inventory/internal/stock"
)

// testSaleWindow: a sale has its first instant, and not its last, on the way of every write.
func testSaleWindow(t *testing.T, k *kit) {
	k.create(90, 3)
	window := stock.SaleWindow{StartsAt: at, EndsAt: at.Add(time.Second)}
	batch := func(limit int64, more ...stock.Order) func(stock.Order, time.Time) (stock.OutcomeKind, error) {
		return func(o stock.Order, when time.Time) (stock.OutcomeKind, error) {
			b := k.batch(1, stock.Fence{}, append([]stock.Order{o}, more...)...)
			b.At, b.Limit, b.SaleWindow = when, limit, window
			result, err := k.store.Deduct(t.Context(), b)
			return kindOf(result.Outcomes), err
		}
	}
	place := func(line stock.PlacedLine) func(stock.Order, time.Time) (stock.OutcomeKind, error) {
		line.SaleWindow = window
		return func(o stock.Order, when time.Time) (stock.OutcomeKind, error) {
			p := placing(o.OrderID, []stock.Line{{SKU: sku, Quantity: o.Quantity}}, []stock.PlacedLine{line})
			p.Order.BuyerID, p.At = o.BuyerID, when
			_, created, err := k.store.Order(t.Context(), p)
			switch {
			case created:
				return stock.Accepted, err
			case stock.CodeOf(err) == stock.CodeSaleClosed:
				return stock.Closed, nil
			default:
				return 0, err
			}
		}
	}
	for name, write := range map[string]func(stock.Order, time.Time) (stock.OutcomeKind, error){
		"batch":                   batch(0),
		"batch that does not fit": batch(0, order("large", 91)),
		"batch with a limit":      batch(9),
		"merge": func(o stock.Order, when time.Time) (stock.OutcomeKind, error) {
			m := k.merging(nil, o)
			m.At, m.SaleWindow = when, window
			result, err := k.store.Merge(t.Context(), m)
			return kindOf(result.Outcomes), err
		},
		"order":                   place(here),
		"order from all segments": place(anywhere),
	} {
		for n, c := range []struct {
			when time.Time
			want stock.OutcomeKind
		}{
			{window.StartsAt.Add(-time.Microsecond), stock.Closed},
			{window.StartsAt, stock.Accepted},
			{window.EndsAt.Add(-time.Microsecond), stock.Accepted},
			{window.EndsAt, stock.Closed},
		} {
			got, err := write(stock.Order{OrderID: fmt.Sprint(name, n), BuyerID: "b", Quantity: 1}, c.when)
			if err != nil || got != c.want {
				t.Errorf("%s, %s after the beginning: got %d, %v, want %d", name, c.when.Sub(window.StartsAt), got, err, c.want)
			}
		}
	}
}

// kindOf returns what became of the first order; 0 if there is no outcome.
func kindOf(outcomes []stock.Outcome) stock.OutcomeKind {
	if len(outcomes) == 0 {
		return 0
	}
	return outcomes[0].Kind
}
