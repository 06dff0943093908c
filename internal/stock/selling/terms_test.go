package selling_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// reterm changes terms, and returns when the change is answered.
func (w *world) reterm(s *selling.Service, change stock.TermsChange) {
	w.t.Helper()
	m := stock.Movement{SKU: sku, Ref: rand.Text(), Kind: stock.Retermed, Terms: change}
	if created, err := s.Move(w.t.Context(), m); err != nil || !created {
		w.t.Fatalf("%+v: %v, %v, want true", m, created, err)
	}
}

// TestTermsHoldEverywhere changes terms at one service. Orders after the answer are held to the new terms, also by
// other services, which sell the SKU and know the old ones.
func TestTermsHoldEverywhere(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := w.processes(2)
		changing, others := services[0], services[len(services)-1]
		w.create(changing, 1000, 3)
		n := 0
		order := func(buyer string, quantity int64) stock.Order {
			n++
			return stock.Order{OrderID: fmt.Sprint("o-", n), BuyerID: buyer, Quantity: quantity}
		}
		large := order("x", 5)
		w.mustTake(others, large)
		w.mustTake(others, order("", 1))

		w.reterm(changing, stock.TermsChange{MaxQuantity: stock.To[int64](2)})
		w.refused(others, order("x", 3), stock.CodeInvalidRequest)
		if again := w.mustTake(others, large); again.Quantity != 5 {
			t.Errorf("an order from before: %+v", again)
		}
		w.reterm(changing, stock.TermsChange{MaxQuantity: stock.To[int64](3)})
		w.mustTake(others, order("x", 3))
		w.reterm(changing, stock.TermsChange{MaxQuantity: stock.To[int64](0), PerBuyerLimit: stock.To[int64](9)})
		w.refused(others, order("", 1), stock.CodeInvalidRequest)
		w.refused(others, order("x", 2), stock.CodeBuyerLimit)
		w.mustTake(others, order("x", 1))
		w.reterm(changing, stock.TermsChange{PerBuyerLimit: stock.To[int64](10)})
		w.mustTake(others, order("x", 1))
		w.refused(others, order("x", 1), stock.CodeBuyerLimit)
		w.reterm(changing, stock.TermsChange{PerBuyerLimit: stock.To[int64](0)})
		w.mustTake(others, order("x", 20))
		w.reterm(changing, stock.TermsChange{SaleEndsAt: stock.To(time.Unix(1e8, 0).UTC())})
		w.refused(others, order("x", 1), stock.CodeSaleClosed)
		if _, created, err := others.Order(t.Context(), multi("m-1", sku)); stock.CodeOf(err) != stock.CodeSaleClosed {
			t.Errorf("an order of several SKUs: %v, %v, want %s", created, err, stock.CodeSaleClosed)
		}
		w.mustTake(others, large)
		w.reterm(changing, stock.TermsChange{SaleEndsAt: stock.To(time.Time{}), MaxReserveFor: stock.To(stock.Period(time.Minute))})
		hour := order("x", 1)
		hour.ReserveFor = time.Hour
		w.refused(others, hour, stock.CodeInvalidRequest)
		w.mustTake(others, order("x", 1))
		if _, created, err := others.Order(t.Context(), multi("m-1", sku)); err != nil || !created {
			t.Errorf("an order of several SKUs: %v, %v, want true", created, err)
		}
		w.reterm(changing, stock.TermsChange{SaleStartsAt: stock.To(farAhead)})
		if _, created, err := others.Order(t.Context(), multi("m-1", sku)); err != nil || created {
			t.Errorf("the same order again: %v, %v", created, err)
		}
		w.mustTake(others, large)
		w.refused(others, order("x", 1), stock.CodeSaleClosed)
	})
}

// multi is an order of several SKUs, with a single line.
func multi(id, sku string) stock.MultiOrder {
	return stock.MultiOrder{OrderID: id, BuyerID: "x", Lines: []stock.Line{{SKU: sku, Quantity: 1}}}
}

// TestTermsHoldInASale changes terms again and again while buyers queue at all services.
func TestTermsHoldInASale(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		services := w.processes(2)
		w.create(services[0], 1_000_000, 4)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var buyers sync.WaitGroup
		defer buyers.Wait()
		defer end()
		for b := range 16 {
			buyers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					o := stock.Order{OrderID: fmt.Sprintf("b-%d-%d", b, n), BuyerID: fmt.Sprint(n % 50), Quantity: 1}
					switch _, _, err := services[b%len(services)].Deduct(t.Context(), sku, o); stock.CodeOf(err) {
					case "", stock.CodeBuyerLimit, stock.CodeSaleClosed:
					default:
						t.Error(err)
						return
					}
					time.Sleep(time.Duration(1+b) * time.Millisecond / 8)
				}
			})
		}
		for n := range 15 {
			changing, other := services[n%len(services)], services[(n+1)%len(services)]
			most := int64(2 + n%2)
			w.reterm(changing, stock.TermsChange{MaxQuantity: stock.To(most), PerBuyerLimit: stock.To(int64(n%3) * 100)})
			for i, s := range []*selling.Service{other, changing} {
				id := fmt.Sprintf("n-%d-%d", n, i)
				w.refused(s, stock.Order{OrderID: id, BuyerID: id, Quantity: most + 1}, stock.CodeInvalidRequest)
				w.mustTake(s, stock.Order{OrderID: id, BuyerID: id, Quantity: most})
			}
			time.Sleep(time.Millisecond) // some orders
		}
	})
}
