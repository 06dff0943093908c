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

// Became is what became of an order, as the service says. To be refused is no error.
func Became(err error) (Outcome, error) {
	became := outcomeOf(err)
	if became == Accepted || became == Refused {
		return became, nil
	}
	return became, err
}

// outcomeOf is what became of an order, as the service says. One that is not accepted for want of stock is refused here.
func outcomeOf(err error) Outcome {
	switch stock.CodeOf(err) {
	case "":
		return Accepted
	case stock.CodeSoldOut, stock.CodeInsufficientStock:
		return Refused
	case stock.CodeOverloaded:
		return Overloaded
	}
	return Unknown
}

// Among has each order choose its SKU by chance; of none it keeps its own.
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
	patience = 20 * time.Second       // after its window, for an answer that says what happened
	pause    = 100 * time.Millisecond // before a patient caller asks again
)

// Patient does as callers should: it asks again where the outcome is not known, and takes for a refusal that too many
// wait. So it knows of each order whether it has a row.
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
	// visitors ask on behalf of the orders, as connections do. They are more than the service lets wait, so none waits
	// for a visitor; goroutines for each order would cost more than most of the answers.
	visitors = 16384
)

// Offer is an open loop: it sends each order to a service in this process when its time has come, and waits for all answers. The result is of the
// orders that were sent, which are fewer where ctx ends.
func Offer(ctx context.Context, service *selling.Service, sku string, at []time.Duration) *Result {
	replies := make([]Reply, len(at))
	ids := make([]string, len(at))
	for i := range ids {
		ids[i] = uuid.NewString() // beforehand, because each asks the kernel
	}
	due := make(chan int, len(at))
	var start time.Time
	var back sync.WaitGroup
	for range min(visitors, len(at)) {
		back.Go(func() {
			// A context each, as requests have: one for all would be a lock that all of them meet at.
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			for i := range due {
				_, _, err := service.Deduct(ctx, sku, stock.Order{OrderID: ids[i], Quantity: 1})
				replies[i] = Reply{Over: time.Since(start), Outcome: outcomeOf(err)}
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
