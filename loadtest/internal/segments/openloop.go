package segments

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"inventory/internal/latency"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// phase is a time in which orders come at a rate, whatever becomes of those before.
type phase struct {
	perSecond float64
	length    time.Duration
}

// plan is when each order of all phases comes, since the beginning.
func plan(phases []phase) (at []time.Duration) {
	var began time.Duration
	for _, p := range phases {
		n := int(p.perSecond * p.length.Seconds())
		for i := range n {
			at = append(at, began+time.Duration(float64(i)/float64(n)*float64(p.length)))
		}
		began += p.length
	}
	return at
}

// reply is what became of an order.
type reply struct {
	planned time.Duration // since the beginning
	took    time.Duration // from then on: an order that this program sent late has waited, too
	code    stock.Code    // "": accepted
}

const (
	tick = time.Millisecond
	// visitors ask on behalf of the orders, as connections do. They are more than the service lets wait, so none waits
	// for a visitor; goroutines for each order would cost more than most of the answers.
	visitors = 16384
)

// offer sends each order when its time has come, and waits for all answers. It returns those of the orders that were sent,
// which are fewer where ctx ends.
func offer(ctx context.Context, service *selling.Service, sku string, at []time.Duration) []reply {
	replies := make([]reply, len(at))
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
				replies[i] = reply{at[i], time.Since(start) - at[i], stock.CodeOf(err)}
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
	return replies[:next]
}

// replies are answers to orders of one plan.
type replies []reply

// of are those with this code that were planned between two times.
func (all replies) of(code stock.Code, from, to time.Duration) (chosen replies) {
	for _, r := range all {
		if r.code == code && r.planned >= from && r.planned < to {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// within counts those whose answer came between two times.
func (all replies) within(from, to time.Duration) (n int) {
	for _, r := range all {
		if at := r.planned + r.took; at >= from && at < to {
			n++
		}
	}
	return n
}

// quantile is the time that a share of all, 0 to 100 percent, stayed within.
func (all replies) quantile(percent float64) time.Duration {
	waits := latency.New()
	for _, r := range all {
		waits.Record(r.took)
	}
	return waits.Quantile(percent)
}
