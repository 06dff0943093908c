package load

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"inventory/internal/api/client"
	"inventory/internal/latency"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
)

// Sale is what callers have bought in a closed loop.
type Sale struct {
	Counts     Counts             `json:"counts"`  // with those of the warm-up
	InTime     int64              `json:"in_time"` // accepted within the window
	Window     time.Duration      `json:"window"`
	Unanswered int64              `json:"unheard"`    // orders without an answer, as their callers were stopped
	Took       time.Duration      `json:"took"`       // until the last caller has come back
	Waits      *latency.Histogram `json:"waits"`      // until orders were accepted, or given up
	Lanes      Lanes              `json:"lanes"`      // of a process of its own, with the warm-up; so is the next
	GCPercent  uint64             `json:"gc_percent"` // how far the heap may grow: GOGC
}

// note counts what an order came to, by times since the window began.
func (s *Sale) note(r Reply) {
	s.Counts[r.Outcome]++
	if r.Over < 0 || r.Outcome != Accepted && r.Outcome != GaveUp {
		return
	}
	if s.Waits.Record(r.Over - r.Sent); r.Outcome == Accepted && r.Over <= s.Window {
		s.InTime++
	}
}

// Together is what callers of several processes have bought of one SKU.
func Together(sales []Sale) Sale {
	all := Sale{Waits: latency.New()}
	for _, s := range sales {
		all.Counts, all.Unanswered = all.Counts.Plus(s.Counts), all.Unanswered+s.Unanswered
		all.InTime, all.Took, all.Window = all.InTime+s.InTime, max(all.Took, s.Took), max(all.Window, s.Window)
		all.GCPercent = s.GCPercent
		all.Waits.Add(s.Waits)
		all.Lanes = Lanes{all.Lanes.Batches + s.Lanes.Batches, all.Lanes.Orders + s.Lanes.Orders, all.Lanes.Unlocked + s.Lanes.Unlocked}
	}
	return all
}

// Lanes is what the workers of a service did, from its metrics.
type Lanes struct {
	Batches  int64 `json:"batches"`
	Orders   int64 `json:"orders"`   // of all batches
	Unlocked int64 `json:"unlocked"` // batches that were written under the guard alone
}

// ReadLanes reads a service's metrics.
func ReadLanes(ctx context.Context, adminURL string) (Lanes, error) {
	f, err := gauges.Scrape(ctx, adminURL)
	if err != nil {
		return Lanes{}, err
	}
	return Lanes{
		Orders: int64(f.Sum("inventory_batch_orders")), Batches: int64(f.Total("inventory_batch_seconds")),
		Unlocked: int64(f.Total("inventory_batch_seconds", "locked=false")),
	}, nil
}

// Order orders one unit.
type Order struct {
	SKU, ID string
	// End is when the window is over: a caller that still waits for a lock then gives up.
	End time.Time
}

// Seller takes the unit of an order.
type Seller func(ctx context.Context, o Order) (Outcome, error)

// Buy is a closed loop: callers buy until the window is over, or ctx ends, and Buy waits for them. The end of ctx is no failure:
// the sale is shorter then. Before the window they buy to warm up, which counts for the audit alone.
func Buy(ctx context.Context, sku string, callers int, warmUp, window time.Duration, sell Seller) (Sale, error) {
	s := Sale{Window: window, Waits: latency.New()}
	failed, first := 0, error(nil)
	var all sync.Mutex
	var back sync.WaitGroup
	start := time.Now().Add(warmUp)
	for range callers {
		back.Go(func() {
			replies, unanswered, err := buy(ctx, sku, start, start.Add(window), sell)
			took := time.Since(start)
			all.Lock()
			defer all.Unlock()
			s.Took = max(s.Took, took)
			for _, r := range replies {
				s.note(r)
			}
			if s.Unanswered += unanswered; err != nil {
				failed, first = failed+1, err
			}
		})
	}
	back.Wait()
	if failed > 0 {
		return s, fmt.Errorf("%d of %d callers failed, one with: %w", failed, callers, first)
	}
	return s, nil
}

// buy buys again and again until the window is over or something fails. It also returns how many orders have no answer.
func buy(ctx context.Context, sku string, began, end time.Time, sell Seller) (replies []Reply, unanswered int64, err error) {
	// Each caller has its own context, as requests have: all would contend for the mutex of a shared one.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for start := time.Now(); start.Before(end) && ctx.Err() == nil; {
		became, err := sell(ctx, Order{sku, uuid.NewString(), end})
		now := time.Now()
		switch {
		case err != nil && ctx.Err() != nil: // stopped
			return replies, 1, nil
		case err != nil:
			return replies, 1, err
		}
		replies = append(replies, Reply{Sent: start.Sub(began), Over: now.Sub(began), Outcome: became})
		start = now
	}
	return replies, 0, nil
}

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

// Outcome is what became of a request.
type Outcome uint8

// The outcomes.
const (
	NotSent           Outcome = iota // the run ended before its time came
	Accepted                         // 201
	Replayed                         // 200: it had happened before, or changed nothing
	SoldOut                          // 409, as the next three
	InsufficientStock                //
	BuyerLimit                       //
	SaleClosed                       //
	Overloaded                       // 503, and nothing happened
	Refused                          // another 4xx; Result.Codes tells which
	Failed                           // another 5xx: what happened is not known
	Unreached                        // there was no connection: nothing was sent
	Unknown                          // sent, and no answer in HTTP came in time
	Dropped                          // not sent: its time had passed by too much when a connection was free
	GaveUp                           // of a closed loop: it still waited for a lock when the window was over
	outcomes
)

// Outcomes are all that a request may come to, NotSent aside.
func Outcomes() (all []Outcome) {
	for o := Accepted; o < outcomes; o++ {
		all = append(all, o)
	}
	return all
}

// String is the outcome for people. Where the service has a code for it, that has the same words.
func (o Outcome) String() string {
	return [...]string{
		"not sent", "accepted", "replayed", "sold out", "insufficient stock", "buyer limit", "sale closed", "overloaded",
		"refused otherwise", "failed", "not connected", "no answer", "dropped", "gave up",
	}[o]
}

// Done reports whether it happened, now or before.
func (o Outcome) Done() bool { return o == Accepted || o == Replayed }

// Short reports whether it was refused for want of units.
func (o Outcome) Short() bool { return o == SoldOut || o == InsufficientStock }

// OutcomeOf is what became of an attempt.
func OutcomeOf(a history.Attempt) Outcome {
	switch code := a.Answer.Code; {
	case a.NotSent:
		return Unreached
	case a.Answer.Status == 0:
		return Unknown
	case a.Answer.Status == http.StatusCreated:
		return Accepted
	case a.Answer.Accepted():
		return Replayed
	case code == client.Overloaded:
		return Overloaded
	case a.Answer.Status == http.StatusConflict:
		for o := SoldOut; o <= SaleClosed; o++ {
			if strings.ReplaceAll(string(code), "_", " ") == o.String() {
				return o
			}
		}
		return Refused
	case a.Answer.Refused():
		return Refused
	default:
		return Failed
	}
}

// Counts are numbers of requests by what became of them.
type Counts [outcomes]int64

// Of counts the requests that came to some outcomes.
func (c Counts) Of(some ...Outcome) (n int64) {
	for _, o := range some {
		n += c[o]
	}
	return n
}

// Answered counts the requests with an answer.
func (c Counts) Answered() (n int64) {
	for o := Accepted; o <= Failed; o++ {
		n += c[o]
	}
	return n
}

// Plus returns both together.
func (c Counts) Plus(o Counts) Counts {
	for outcome, n := range o {
		c[outcome] += n
	}
	return c
}
