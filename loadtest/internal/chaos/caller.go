//go:build unix

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

const (
	patience    = 600 * time.Millisecond // of a caller with one attempt
	mostTries   = 40                     // of one operation: longer than any fault lasts
	lastTries   = 10                     // of one operation when no fault is left
	answerBound = 2 * time.Second        // after which nothing is written for a request, as the service promises
)

// caller does one operation after the other, and keeps them with their attempts.
type caller struct {
	*rand.Rand
	round   *round
	number  int
	sent    int
	history []history.Operation
}

// ask does an operation: it sends requests until the answer is final, mostly to another process than before.
func (c *caller) ask(ctx context.Context, o history.Operation) history.Answer {
	p := load.Persistence{
		First: c.IntN(processes), Silent: c.IntN(3) == 0, For: time.Hour, Tries: mostTries, Finish: true,
		Next:  func(before int) int { return (before + 1 + c.IntN(processes-1)) % processes },
		Pause: func() time.Duration { return within(c.Rand, 20*time.Millisecond, 200*time.Millisecond) },
	}
	if ctx.Err() != nil || c.number == callers {
		p.Tries = lastTries
	}
	answer, err := c.round.services.Ask(ctx, &o, p)
	c.history = append(c.history, o)
	if err != nil {
		return history.Answer{}
	}
	return answer
}

// id is the next id of this caller.
func (c *caller) id() string {
	c.sent++
	return fmt.Sprintf("%s-%d-%d", c.round.name, c.number, c.sent)
}

// work does random operations until ctx ends.
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
		time.Sleep(within(c.Rand, 0, 20*time.Millisecond))
	}
}

// deduct buys or reserves. Now and then it reads the deduction or gives it back.
func (c *caller) deduct(ctx context.Context, sku string, quantity int64, reserveFor time.Duration) (id string, accepted bool) {
	o := history.Operation{Kind: history.Deduct, ID: c.id(), Buyer: c.buyer(), Lines: []history.Line{{SKU: sku, Quantity: quantity}}, ReserveFor: reserveFor}
	accepted = c.ask(ctx, o).Accepted()
	switch n := c.IntN(20); {
	case n == 0:
		c.about(ctx, history.Read, sku, o.ID)
	case n == 1 && accepted:
		c.about(ctx, history.Cancel, sku, o.ID)
	case n < 4 && accepted && quantity > 1:
		c.giveBack(ctx, sku, o.ID)
	case n == 4: // once more, as if the answer was lost
		c.ask(ctx, o)
	}
	return o.ID, accepted
}

// giveBack returns a unit of a deduction that has more, and now and then repeats that.
func (c *caller) giveBack(ctx context.Context, sku, id string) {
	o := history.Operation{Kind: history.Return, ID: id, Ref: c.id(), Lines: []history.Line{{SKU: sku, Quantity: 1}}}
	c.ask(ctx, o)
	if c.IntN(3) == 0 {
		c.ask(ctx, o)
	}
}

func (c *caller) buyer() string { return fmt.Sprint("buyer-", c.IntN(50)) }

// about reads, commits or cancels a deduction.
func (c *caller) about(ctx context.Context, kind history.Kind, sku, id string) {
	c.ask(ctx, history.Operation{Kind: kind, ID: id, Lines: []history.Line{{SKU: sku}}})
}

// reserve reserves for a second or two. It commits, cancels, extends or forgets the reservation, some just when that ends.
func (c *caller) reserve(ctx context.Context) {
	reserveFor := within(c.Rand, time.Second, longestStay).Round(time.Millisecond)
	began := time.Now()
	id, accepted := c.deduct(ctx, c.round.reserved, 1+c.Int64N(2), reserveFor)
	if !accepted {
		return
	}
	n := c.IntN(6)
	if n > 3 { // before it ends, and mostly in time
		time.Sleep(within(c.Rand, 0, reserveFor))
		began, reserveFor = time.Now(), within(c.Rand, time.Second, longestStay).Round(time.Millisecond)
		c.ask(ctx, history.Operation{
			Kind: history.Extend, ID: id, Ref: c.id(), Lines: []history.Line{{SKU: c.round.reserved}}, ReserveFor: reserveFor,
		})
	}
	switch n {
	case 0:
		c.about(ctx, history.Commit, c.round.reserved, id)
	case 1:
		c.about(ctx, history.Cancel, c.round.reserved, id)
	case 2, 4: // as its time ends
		time.Sleep(time.Until(began.Add(reserveFor - 10*time.Millisecond + within(c.Rand, 0, 20*time.Millisecond))))
		c.about(ctx, history.Read, c.round.reserved, id)
		c.about(ctx, history.Commit, c.round.reserved, id)
		c.about(ctx, history.Read, c.round.reserved, id)
	}
}

// order buys some of several SKUs, all or none.
func (c *caller) order(ctx context.Context) {
	o := history.Operation{Kind: history.Order, ID: c.id(), Buyer: c.buyer()}
	for _, n := range c.Perm(len(c.round.many))[:2+c.IntN(3)] {
		o.Lines = append(o.Lines, history.Line{SKU: c.round.many[n], Quantity: 1 + c.Int64N(2)})
	}
	c.ask(ctx, o)
}

// restock adds half of the units that are wanted meanwhile. So the hot SKU is sold out most of the time, and each of its
// restocks is sold to the last unit.
func (c *caller) restock(ctx context.Context) {
	sku, quantity := c.round.hot, 5+c.Int64N(10)
	if c.IntN(3) == 0 {
		sku, quantity = c.round.many[c.IntN(len(c.round.many))], 5
	}
	c.ask(ctx, history.Operation{Kind: history.Restock, ID: c.id(), Lines: []history.Line{{SKU: sku, Quantity: quantity}}})
}

// resegment gives a SKU another number of segments.
func (c *caller) resegment(ctx context.Context) {
	c.ask(ctx, history.Operation{Kind: history.Resegment, ID: c.id(), Lines: []history.Line{{SKU: c.round.hot, Quantity: 1 + c.Int64N(20)}}})
}
