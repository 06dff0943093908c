package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"

	"github.com/google/uuid"
)

// Through sells through a service.
func Through(service *selling.Service) Seller {
	return func(ctx context.Context, o Order) (Outcome, error) {
		_, _, err := service.Deduct(ctx, o.SKU, stock.Order{OrderID: o.ID, Quantity: 1})
		return Became(err)
	}
}

// Became is what became of an order, by the error of the service. A refusal for want of stock is no error.
func Became(err error) (Outcome, error) {
	switch stock.CodeOf(err) {
	case "":
		return Accepted, nil
	case stock.CodeSoldOut, stock.CodeInsufficientStock:
		return Refused, nil
	case stock.CodeOverloaded:
		return Overloaded, err
	}
	return Unknown, err
}

// Among has each order choose its SKU at random; of none it keeps its own.
func Among(skus []string, sell Seller) Seller {
	if len(skus) == 0 {
		return sell
	}
	return func(ctx context.Context, o Order) (Outcome, error) {
		o.SKU = skus[rand.IntN(len(skus))]
		return sell(ctx, o)
	}
}

const (
	patience = 20 * time.Second       // after its window, for a final answer
	pause    = 100 * time.Millisecond // before a patient caller retries
)

// Patient does as callers should: it asks again where the outcome is not known. An overloaded service counts as a refusal. So it is
// known of each order whether it has a row.
func Patient(sell Seller) Seller {
	return func(ctx context.Context, o Order) (Outcome, error) {
		for {
			became, err := sell(ctx, o)
			switch stock.CodeOf(err) {
			case stock.CodeOverloaded:
				return Refused, nil
			case stock.CodeUnavailable:
			default:
				return became, err
			}
			if ctx.Err() != nil || time.Now().After(o.End.Add(patience)) {
				return became, err
			}
			time.Sleep(pause)
		}
	}
}

const (
	tick = time.Millisecond
	// visitors ask for the orders, as connections do. There are more than orders can wait at the service, so no order waits for
	// a visitor. A goroutine for each order would cost more than most answers.
	visitors = 16384
)

// Offer is an open loop: it sends each order to a service in this process at its time, and waits for all answers. The result is of
// the orders that were sent, which are fewer if ctx ends.
func Offer(ctx context.Context, service *selling.Service, sku string, at []time.Duration) *Result {
	replies := make([]Reply, len(at))
	ids := make([]string, len(at))
	for i := range ids {
		ids[i] = uuid.NewString() // before the window, because each needs a system call
	}
	due := make(chan int, len(at))
	var start time.Time
	var back sync.WaitGroup
	for range min(visitors, len(at)) {
		back.Go(func() {
			// Each visitor has its own context, as requests have: all would contend for the mutex of a shared one.
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			for i := range due {
				_, _, err := service.Deduct(ctx, sku, stock.Order{OrderID: ids[i], Quantity: 1})
				became, _ := Became(err)
				replies[i] = Reply{Over: time.Since(start), Outcome: became}
			}
		})
	}
	start = time.Now()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	next := 0
	for ; next < len(at) && ctx.Err() == nil; <-ticker.C {
		for now := time.Since(start); next < len(at) && at[next] <= now; next++ {
			due <- next
		}
	}
	close(due)
	back.Wait()
	return &Result{Load: Load{Start: start, At: at[:next]}, Replies: replies[:next], Elapsed: time.Since(start)}
}
