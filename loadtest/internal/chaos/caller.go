//go:build unix

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

const (
	patience    = 600 * time.Millisecond // of a caller with one attempt
	persistence = 25 * time.Second       // of one operation: longer than any fault lasts
	lastOf      = 5 * time.Second        // of one operation when no fault is left
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
		First: c.IntN(processes), Silent: c.IntN(3) == 0, For: persistence, Finish: true,
		Next:  func(before int) int { return (before + 1 + c.IntN(processes-1)) % processes },
		Pause: func() time.Duration { return within(c.Rand, 20*time.Millisecond, 200*time.Millisecond) },
	}
	if ctx.Err() != nil || c.number == callers {
		p.For = lastOf
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
		case n < 35:
			c.deduct(ctx, c.round.hot, 1+c.Int64N(3))
		case n < 48:
			c.deduct(ctx, c.round.many[c.IntN(len(c.round.many))], 1+c.Int64N(2))
		case n < 56:
			c.deduct(ctx, c.round.limited, 1+c.Int64N(2))
		case n < 60:
			c.deduct(ctx, c.round.grouped[c.IntN(groupedSKUs)], 1)
		case n < 76:
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

// deduct buys. Now and then it reads the deduction, sends the order again as if the answer was lost, or gives units back.
func (c *caller) deduct(ctx context.Context, sku string, quantity int64) {
	o := history.Operation{Kind: history.Deduct, ID: c.id(), Buyer: c.buyer(), Lines: []history.Line{{SKU: sku, Quantity: quantity}}}
	accepted := c.ask(ctx, o).Accepted()
	switch n := c.IntN(20); {
	case n == 0:
		c.ask(ctx, about(history.Read, o))
	case n == 1:
		c.ask(ctx, o)
	case n < 6 && accepted:
		c.giveBack(ctx, o)
	}
}

func (c *caller) buyer() string { return fmt.Sprint("buyer-", c.IntN(50)) }

// about is an operation on what another one took, as a whole.
func about(kind history.Kind, o history.Operation) history.Operation {
	a := history.Operation{Kind: kind, ID: o.ID}
	for _, line := range o.Lines {
		a.Lines = append(a.Lines, history.Line{SKU: line.SKU})
	}
	return a
}

// part is an operation on a unit of a line of what another one took.
func (c *caller) part(kind history.Kind, o history.Operation) history.Operation {
	return history.Operation{Kind: kind, ID: o.ID, Ref: c.id(), Lines: []history.Line{{SKU: o.Lines[c.IntN(len(o.Lines))].SKU, Quantity: 1}}}
}

// giveBack returns what is committed, a unit or all of it, and writes some of it off. Now and then it cancels it, which is too late,
// and sends what it sent again, and the order after that.
func (c *caller) giveBack(ctx context.Context, o history.Operation) {
	all := about(history.Return, o)
	all.WriteOff = c.IntN(3) == 0
	for _, back := range []history.Operation{c.part(history.Return, o), about(history.Cancel, o), all} {
		if c.IntN(2) == 0 {
			continue
		}
		if back.Ref != "" {
			back.WriteOff = c.IntN(3) == 0
		}
		c.ask(ctx, back)
		if c.IntN(3) == 0 {
			c.ask(ctx, back)
		}
	}
	if c.IntN(3) == 0 {
		c.ask(ctx, o)
	}
}

// reserve reserves for a second or two.
func (c *caller) reserve(ctx context.Context) {
	o := history.Operation{
		Kind: history.Deduct, ID: c.id(), Buyer: c.buyer(), ReserveFor: c.stay(),
		Lines: []history.Line{{SKU: c.round.reserved, Quantity: 1 + c.Int64N(3)}},
	}
	if c.ask(ctx, o).Accepted() {
		c.settle(ctx, o)
	}
}

// stay is how long a reservation lasts.
func (c *caller) stay() time.Duration {
	return within(c.Rand, time.Second, longestStay).Round(time.Millisecond)
}

// settle extends what is reserved, gives a part of it up, and then commits, cancels or forgets it, some of that just when its time
// ends or at the same time. In the end it may be returned.
func (c *caller) settle(ctx context.Context, o history.Operation) {
	ends := time.Now().Add(o.ReserveFor)
	if c.IntN(4) == 0 { // mostly in time
		time.Sleep(within(c.Rand, 0, o.ReserveFor))
		later := about(history.Extend, o)
		later.Ref, later.ReserveFor = c.id(), c.stay()
		ends = time.Now().Add(later.ReserveFor)
		c.ask(ctx, later)
	}
	if c.IntN(3) == 0 { // of an order alone it is refused
		c.ask(ctx, c.part(history.Cancel, o))
	}
	commit, cancel, giveBack := about(history.Commit, o), about(history.Cancel, o), about(history.Return, o)
	commit.Retake, giveBack.WriteOff = c.IntN(2) == 0, c.IntN(3) == 0
	switch c.IntN(8) {
	case 0:
		c.ask(ctx, cancel)
		c.ask(ctx, commit)
	case 1, 2: // as its time ends
		time.Sleep(time.Until(ends.Add(within(c.Rand, -10*time.Millisecond, 10*time.Millisecond))))
		for _, one := range []history.Operation{about(history.Read, o), commit, about(history.Read, o)} {
			c.ask(ctx, one)
		}
	case 3: // too late
		commit.Retake = true
		time.Sleep(time.Until(ends.Add(within(c.Rand, 0, 500*time.Millisecond))))
		c.atOnce(ctx, commit, commit, o)
	case 4, 5:
		if c.IntN(2) == 0 {
			time.Sleep(time.Until(ends.Add(within(c.Rand, -10*time.Millisecond, 10*time.Millisecond))))
		}
		c.atOnce(ctx, commit, cancel, giveBack, o)
	case 6: // forgotten
		if c.IntN(2) == 0 {
			time.Sleep(time.Until(ends))
			c.ask(ctx, o)
		}
		return
	default:
		c.ask(ctx, commit)
	}
	if c.IntN(2) == 0 {
		c.ask(ctx, o)
		c.ask(ctx, giveBack)
		c.ask(ctx, c.part(history.Return, o))
		c.ask(ctx, o)
	}
}

// atOnce does operations at the same time, as callers that know nothing of each other.
func (c *caller) atOnce(ctx context.Context, operations ...history.Operation) {
	var running sync.WaitGroup
	all := make([]*caller, len(operations))
	for i, o := range operations {
		all[i] = &caller{Rand: rand.New(rand.NewPCG(c.Uint64(), c.Uint64())), round: c.round, number: c.number} //nolint:gosec // it is to be played again
		running.Go(func() { all[i].ask(ctx, o) })
	}
	running.Wait()
	for _, other := range all {
		c.history = append(c.history, other.history...)
	}
}

// order buys or reserves some of several SKUs, all or none. Now and then it tries to settle a line without the others.
func (c *caller) order(ctx context.Context) {
	o := history.Operation{Kind: history.Order, ID: c.id(), Buyer: c.buyer()}
	o.Lines = c.lines(2 + c.IntN(3))
	if c.IntN(3) > 0 {
		o.ReserveFor = c.stay()
	}
	if !c.ask(ctx, o).Accepted() {
		return
	}
	if c.IntN(4) == 0 {
		alone := about([]history.Kind{history.Commit, history.Cancel, history.Extend}[c.IntN(3)], history.Operation{ID: o.ID, Lines: o.Lines[:1]})
		if alone.Kind == history.Extend {
			alone.Ref, alone.ReserveFor = c.id(), c.stay()
		}
		c.ask(ctx, alone)
	}
	if c.IntN(2) == 0 {
		c.change(ctx, o)
	}
	switch {
	case o.ReserveFor > 0:
		c.settle(ctx, o)
	case c.IntN(2) == 0:
		c.giveBack(ctx, o)
	}
}

// lines are some of different SKUs.
func (c *caller) lines(n int) (lines []history.Line) {
	skus := slices.Concat(c.round.many, c.round.grouped, c.round.grouped)
	for _, i := range c.Perm(len(skus)) {
		if len(lines) < n && !slices.ContainsFunc(lines, func(l history.Line) bool { return l.SKU == skus[i] }) {
			lines = append(lines, history.Line{SKU: skus[i], Quantity: 1 + c.Int64N(2)})
		}
	}
	return lines
}

// change gives an order other lines, and now and then another buyer: once, or twice and then the first time again, which changes nothing any
// more. Some changes meet each other, or a commit. Then some of its lines may be committed without the others.
func (c *caller) change(ctx context.Context, o history.Operation) {
	var changes []history.Operation
	for range 2 {
		one := history.Operation{Kind: history.Change, ID: o.ID, Ref: c.id(), Lines: c.lines(1 + c.IntN(2)), WriteOff: c.IntN(4) == 0}
		if c.IntN(3) > 0 {
			one.Lines = append(one.Lines, c.besides(o, one)...)
		}
		if c.IntN(4) == 0 {
			one.Hands = c.buyer()
		}
		changes = append(changes, one)
	}
	commit := about(history.Commit, o)
	switch c.IntN(4) {
	case 0:
		c.ask(ctx, changes[0])
	case 1:
		c.atOnce(ctx, changes[0], changes[1], changes[0], commit)
	default:
		for _, n := range []int{0, 1, 0} {
			c.ask(ctx, changes[n])
		}
	}
	if o.ReserveFor > 0 && c.IntN(3) == 0 {
		only := changes[c.IntN(2)]
		c.ask(ctx, history.Operation{Kind: history.Commit, ID: o.ID, Only: true, Retake: c.IntN(2) == 0, Lines: only.Lines[:1]})
	}
}

// besides are the lines of an order of SKUs that a change does not name.
func (c *caller) besides(o, change history.Operation) (lines []history.Line) {
	for _, line := range o.Lines {
		if !slices.ContainsFunc(change.Lines, func(l history.Line) bool { return l.SKU == line.SKU }) {
			lines = append(lines, line)
		}
	}
	return lines
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
