package segments

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/load"
)

const (
	tick = time.Millisecond
	// visitors ask on behalf of the orders, as connections do. They are more than the service lets wait, so none waits
	// for a visitor; goroutines for each order would cost more than most of the answers.
	visitors = 16384
)

// offer sends each order to a service in this process when its time has come, and waits for all answers. The result is of the
// orders that were sent, which are fewer where ctx ends.
func offer(ctx context.Context, service *selling.Service, sku string, at []time.Duration) *load.Result {
	replies := make([]load.Reply, len(at))
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
				replies[i] = load.Reply{Over: time.Since(start), Outcome: outcomeOf(err)}
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
	return &load.Result{Load: load.Load{Start: start, At: at[:next]}, Replies: replies[:next], Elapsed: time.Since(start)}
}

// outcomeOf is what became of an order of which the service says so.
func outcomeOf(err error) load.Outcome {
	switch stock.CodeOf(err) {
	case "":
		return load.Accepted
	case stock.CodeOverloaded:
		return load.Overloaded
	}
	return load.Unknown
}
