package tail

import (
	"context"
	"net/http"
	"sync"
	"time"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/openloop"
)

// askers are how many requests are asked again at once.
const askers = 64

// again asks again, at other processes than the victim, for orders to which no final answer came.
type again struct {
	orders *wishes
	sku    string
	fleet  *client.Fleet
	began  time.Time
	queue  chan int
	asking sync.WaitGroup

	mu     sync.Mutex
	first  map[int]openloop.Reply // what had become of them
	finals map[int]openloop.Reply
}

// newAgain starts to ask. Whoever has it calls wait.
func newAgain(ctx context.Context, orders *wishes, sku string, fleet *client.Fleet, began time.Time) *again {
	a := &again{
		orders: orders, sku: sku, fleet: fleet, began: began,
		queue: make(chan int, len(orders.all)), // none waits until another has been asked for
		first: map[int]openloop.Reply{}, finals: map[int]openloop.Reply{},
	}
	for range askers {
		a.asking.Go(func() {
			for i := range a.queue {
				a.ask(ctx, i)
			}
		})
	}
	return a
}

// heard takes up what became of a request.
func (a *again) heard(i int, r openloop.Reply) {
	if r.Outcome != openloop.Unreached && !r.Outcome.Open() {
		return
	}
	a.mu.Lock()
	a.first[i] = r
	a.mu.Unlock()
	a.queue <- i
}

// ask asks one process after the other until there is an answer, as a buyer's program does.
func (a *again) ask(ctx context.Context, i int) {
	w := a.orders.all[i]
	answer, err := a.fleet.Deduct(ctx, a.sku, client.NewDeduction{OrderID: w.id, Quantity: w.quantity})
	over, outcome := time.Since(a.began), openloop.Unknown
	if err == nil {
		outcome = outcomeOf(answer)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	final := a.first[i]
	if final.Sent == 0 { // it did not go out then
		final.Sent = final.Over
	}
	final.Over, final.Outcome = over, outcome
	a.finals[i] = final
}

func outcomeOf(answer client.Answer[client.Deduction]) openloop.Outcome {
	switch {
	case answer.Status == http.StatusCreated:
		return openloop.Accepted
	case answer.Status == http.StatusOK:
		return openloop.Replayed
	case answer.Problem == nil:
		return openloop.Failed
	}
	switch answer.Problem.Code {
	case client.SoldOut:
		return openloop.SoldOut
	case client.InsufficientStock:
		return openloop.InsufficientStock
	case client.Overloaded:
		return openloop.Overloaded
	default:
		return openloop.Failed
	}
}

// wait waits until all have been asked, when nothing more is heard.
func (a *again) wait() {
	close(a.queue)
	a.asking.Wait()
}
