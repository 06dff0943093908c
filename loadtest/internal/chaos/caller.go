//go:build unix

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/history"
)

const (
	patience    = 600 * time.Millisecond // of a caller with one attempt
	mostTries   = 40                     // of one operation: longer than any fault lasts
	lastTries   = 10                     // of one operation when no fault is left
	answerBound = 2 * time.Second        // after which nothing is written for a request, as the service promises
)

// caller does one operation after the other, and writes down what it saw.
type caller struct {
	*rand.Rand
	round    *round
	http     *http.Client
	number   int
	sent     int
	history  []history.Operation
	accepted *atomic.Int64
}

// ask does an operation: it asks until the answer is final, mostly another process than before.
func (c *caller) ask(ctx context.Context, o history.Operation, method, path string, body any) history.Answer {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // a map of texts and numbers
	}
	if body == nil {
		text = nil
	}
	process := c.IntN(processes)
	tellsDeadline := c.IntN(3) > 0
	tries := mostTries
	if ctx.Err() != nil || c.number == callers {
		tries = lastTries
	}
	for range tries {
		a := c.try(process, tellsDeadline, method, path, text)
		o.Attempts = append(o.Attempts, a)
		switch {
		case a.Answer.Status == http.StatusConflict && !c.isFinal(o.Attempts):
			time.Sleep(time.Until(c.over(o.Attempts)) + time.Millisecond)
		case a.Answer.Accepted() || a.Answer.Refused():
			c.history = append(c.history, o)
			return a.Answer
		default:
			time.Sleep(c.within(20*time.Millisecond, 200*time.Millisecond))
		}
		if ctx.Err() != nil && a.Answer.Status == 0 {
			break // the round is over
		}
		process = (process + 1 + c.IntN(processes-1)) % processes
	}
	c.history = append(c.history, o)
	return history.Answer{}
}

// over is when no attempt can be carried out any more.
func (c *caller) over(attempts []history.Attempt) (last time.Time) {
	for _, a := range attempts {
		over := a.Ended.Add(answerBound)
		if !a.Deadline.IsZero() {
			over = a.Deadline
		}
		if a.Answer.Unknown() && over.After(last) {
			last = over
		}
	}
	return last
}

// isFinal tells whether the last answer can be one.
func (c *caller) isFinal(attempts []history.Attempt) bool {
	last := attempts[len(attempts)-1]
	return c.over(attempts[:len(attempts)-1]).Before(last.Sent)
}

func (c *caller) within(least, most time.Duration) time.Duration {
	return least + time.Duration(c.Int64N(int64(most-least)))
}

// try sends one request to a process. It hangs up when its patience ends.
func (c *caller) try(process int, tellsDeadline bool, method, path string, body []byte) history.Attempt {
	a := history.Attempt{Process: process, Sent: time.Now()}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, *c.round.stack.processes[process].url.Load()+path, bytes.NewReader(body))
	if err != nil {
		panic(err) // paths are ours
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if tellsDeadline {
		a.Deadline = a.Sent.Add(patience)
		request.Header.Set("Request-Deadline", a.Deadline.UTC().Format(time.RFC3339Nano))
	}
	a.Answer = c.answer(request)
	a.Ended = time.Now()
	return a
}

// answer is the zero Answer where there is none.
func (c *caller) answer(request *http.Request) (a history.Answer) {
	response, err := c.http.Do(request)
	if err != nil {
		return a
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return a
	}
	var said struct {
		Code     string    `json:"code"`
		Status   any       `json:"status"` // of a deduction, or of a problem
		Quantity int64     `json:"quantity"`
		Expires  time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return a
	}
	a = history.Answer{Status: response.StatusCode, Code: said.Code, Quantity: said.Quantity, Expires: said.Expires}
	if state, is := said.Status.(string); is {
		a.State = state
	}
	return a
}

// id is the next id of this caller.
func (c *caller) id() string {
	c.sent++
	return fmt.Sprintf("%s-%d-%d", c.round.name, c.number, c.sent)
}

// work does what comes, until ctx ends.
func (c *caller) work(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := c.IntN(100); {
		case n < 45:
			c.deduct(ctx, c.round.hot, 1+c.Int64N(3), 0)
		case n < 60:
			c.deduct(ctx, c.round.many[c.IntN(len(c.round.many))], 1+c.Int64N(2), 0)
		case n < 68:
			c.deduct(ctx, c.round.limited, 1+c.Int64N(2), 0)
		case n < 80:
			c.reserve(ctx)
		case n < 90:
			c.order(ctx)
		case n < 97:
			c.restock(ctx)
		default:
			c.resegment(ctx)
		}
		time.Sleep(c.within(0, 20*time.Millisecond))
	}
}

// deduct buys or reserves, and now and then looks at it or gives it back.
func (c *caller) deduct(ctx context.Context, sku string, quantity int64, reserveFor time.Duration) (id string, accepted bool) {
	id, buyer := c.id(), fmt.Sprint("buyer-", c.IntN(50))
	body := map[string]any{"order_id": id, "buyer_id": buyer, "quantity": quantity}
	if reserveFor > 0 {
		body["reserve_for"] = reserveFor.String()
	}
	o := history.Operation{Kind: history.Deduct, ID: id, Buyer: buyer, Lines: []history.Line{{SKU: sku, Quantity: quantity}}, ReserveFor: reserveFor}
	if accepted = c.ask(ctx, o, http.MethodPost, "/v1/skus/"+sku+"/deductions", body).Accepted(); accepted {
		c.accepted.Add(1)
	}
	switch n := c.IntN(20); {
	case n == 0:
		c.about(ctx, history.Read, sku, id)
	case n == 1 && accepted:
		c.about(ctx, history.Cancel, sku, id)
	case n == 2: // once more, as who has lost the answer
		c.ask(ctx, o, http.MethodPost, "/v1/skus/"+sku+"/deductions", body)
	}
	return id, accepted
}

// about reads, commits or cancels a deduction.
func (c *caller) about(ctx context.Context, kind history.Kind, sku, id string) history.Answer {
	method, path := http.MethodGet, "/v1/skus/"+sku+"/deductions/"+id
	switch kind {
	case history.Commit:
		method, path = http.MethodPost, path+"/commit"
	case history.Cancel:
		method, path = http.MethodPost, path+"/cancel"
	default:
	}
	return c.ask(ctx, history.Operation{Kind: kind, ID: id, Lines: []history.Line{{SKU: sku}}}, method, path, nil)
}

// reserve reserves for a second or two, and commits, cancels or forgets it, also when its time ends.
func (c *caller) reserve(ctx context.Context) {
	reserveFor := c.within(time.Second, 2*time.Second).Round(time.Millisecond)
	began := time.Now()
	id, accepted := c.deduct(ctx, c.round.reserved, 1+c.Int64N(2), reserveFor)
	if !accepted {
		return
	}
	switch c.IntN(5) {
	case 0:
		c.about(ctx, history.Commit, c.round.reserved, id)
	case 1:
		c.about(ctx, history.Cancel, c.round.reserved, id)
	case 2: // as its time ends
		time.Sleep(time.Until(began.Add(reserveFor - 10*time.Millisecond + c.within(0, 20*time.Millisecond))))
		c.about(ctx, history.Read, c.round.reserved, id)
		c.about(ctx, history.Commit, c.round.reserved, id)
		c.about(ctx, history.Read, c.round.reserved, id)
	}
}

// order buys some of several SKUs, all or none.
func (c *caller) order(ctx context.Context) {
	id, buyer := c.id(), fmt.Sprint("buyer-", c.IntN(50))
	o := history.Operation{Kind: history.Order, ID: id, Buyer: buyer}
	body := client.NewOrder{OrderID: id, BuyerID: &buyer}
	for _, n := range c.Perm(len(c.round.many))[:2+c.IntN(3)] {
		line := history.Line{SKU: c.round.many[n], Quantity: 1 + c.Int64N(2)}
		o.Lines = append(o.Lines, line)
		body.Lines = append(body.Lines, client.NewLine{Sku: line.SKU, Quantity: line.Quantity})
	}
	if c.ask(ctx, o, http.MethodPost, "/v1/orders", body).Accepted() {
		c.accepted.Add(1)
	}
}

// restock brings half of the units that are wanted meanwhile: the hot SKU is sold out most of the time, and each restock of
// it is a sale to the last unit.
func (c *caller) restock(ctx context.Context) {
	sku, quantity := c.round.hot, 5+c.Int64N(10)
	if c.IntN(3) == 0 {
		sku, quantity = c.round.many[c.IntN(len(c.round.many))], 5
	}
	id := c.id()
	o := history.Operation{Kind: history.Restock, ID: id, Lines: []history.Line{{SKU: sku, Quantity: quantity}}}
	c.ask(ctx, o, http.MethodPost, "/v1/skus/"+sku+"/restock", map[string]any{"ref": id, "quantity": quantity})
}

// resegment gives a SKU another number of segments. Nobody looks for it in the history: the units tell.
func (c *caller) resegment(ctx context.Context) {
	kept := len(c.history)
	c.ask(ctx, history.Operation{}, http.MethodPost, "/v1/skus/"+c.round.hot+"/resegment",
		map[string]any{"ref": c.id(), "segments": 1 + c.IntN(20)})
	c.history = c.history[:kept]
}
