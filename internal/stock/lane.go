package stock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"inventory/internal/locking"
)

// The bounds of a lane.
const (
	batchLimit = 256                    // orders of one write; more, where more than batchParts times as many wait
	batchParts = 4                      // of a long queue, which one write takes one of
	queueWait  = 4 * time.Second        // an order that has waited for longer is not started
	maxHops    = 4                      // segments tried before a merge
	maxLayouts = 8                      // resegments that may come between, before a batch is given up
	laneIdle   = time.Second            // a lane without work for this long ends
	writeLimit = 10 * time.Second       // for what nobody waits for
	soldOutFor = time.Second            // for this long a refusal may rest on one look at the rows
	lockWait   = 100 * time.Millisecond // for the locks of a batch, and again for those of a merge, before it goes on under the guard
	lockTurn   = 25 * time.Millisecond  // a busy lane offers its lock to other processes this often
	lockLinger = 2 * time.Millisecond   // an idle lane gives its lock back after this
	wary       = 64                     // batches after one with a known order, of which more are expected
)

// lane serves orders of one SKU, in batches. One goroutine owns it.
type lane struct {
	service *Service
	seller  *seller
	sku     string
	queue   *queue

	news     int64         // what of the seller's we know
	terms    *Terms        // on which the SKU is sold; nil before the first look
	layout   int64         // that levels belong to
	levels   []int64       // per segment what it last held as far as we know; nil before the first look
	segment  int           // where we sell, or sold last
	hold     *locking.Hold // its lock; nil: none
	heldAt   time.Time
	soldOut  time.Time // when zero was confirmed over all segments; the zero time: not
	until    time.Time // when that ends by itself, because a reservation expires; the zero time: not
	sweeps   int       // of expired reservations, for the batch at hand
	again    int       // so many batches from now on may have known orders
	last     gathering // of the batch before
	deserted bool      // the SKU does not exist: end as soon as the queue is empty
}

// nowhere is the segment of a lane that has not sold yet.
const nowhere = -1

// run serves batches until the lane has been idle for a while or the service stops. It is the seller's first lane, and
// ends with it.
func (l *lane) run() {
	for {
		l.gather()
		batch := l.queue.take(1, batchSize(l.queue.length()), queueWait)
		if len(batch) > 0 {
			taken := time.Now()
			l.serve(batch)
			l.last.orders, l.last.took = len(batch), time.Since(taken)
			l.takeTurns()
			continue
		}
		if l.rest() {
			return
		}
	}
}

// batchSize is how many orders one write takes. Where a lane falls behind, it costs more to get its turn between those
// who ask, again and again, than to write more at a time.
func batchSize(waiting int) int { return max(batchLimit, waiting/batchParts) }

// rest waits for a request. It gives the lock back soon, and reports true when the lane has ended.
func (l *lane) rest() (ended bool) {
	if l.hold != nil && l.within(lockLinger, l.queue.arrived) {
		return false
	}
	l.unlock()
	if !l.deserted && l.within(laneIdle, l.queue.arrived) {
		return false
	}
	return l.service.retire(l.seller)
}

func (l *lane) within(d time.Duration, signal <-chan struct{}) bool {
	return l.service.within(d, signal)
}

// within waits for a signal, at most d, and not at all once the service stops.
func (s *Service) within(d time.Duration, signal <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-signal:
		return true
	case <-timer.C:
		return false
	case <-s.stop:
		return false
	}
}

// serve answers every request of a batch.
func (l *lane) serve(batch []*request) {
	ctx, cancel := context.WithDeadline(l.service.base, latest(batch))
	defer cancel()
	taken := time.Now()
	for _, r := range batch {
		l.service.observer.Queued(taken.Sub(r.queued))
	}
	l.hear()
	rest, err := l.settleFormer(ctx, batch)
	if err == nil {
		rest, err = l.refuseByTerms(ctx, rest)
	}
	if err == nil {
		rest, err = l.refuseSoldOut(ctx, rest)
	}
	if err == nil {
		rest, err = l.sellToEach(ctx, rest)
	}
	for _, r := range rest {
		r.refuse(err)
	}
}

// hear forgets what stock from elsewhere has made wrong.
func (l *lane) hear() {
	if news := l.seller.news.Load(); news != l.news {
		l.news, l.levels, l.soldOut = news, nil, time.Time{}
	}
}

// sell moves over the segments that can fill something, and merges for what none of them can. It returns the
// requests that got no answer, and the error they all share.
func (l *lane) sell(ctx context.Context, pending []*request) ([]*request, error) {
	fresh := false // whether levels were read for this batch
	lockBy := time.Now().Add(lockWait)
	l.sweeps = 0
	for hop, layouts := 0, 0; len(pending) > 0; hop++ {
		var err error
		if candidates := l.candidates(pending); len(candidates) > 0 && hop < maxHops {
			l.moveTo(candidates, lockBy)
			pending, err = l.deduct(ctx, pending)
		} else if !fresh || l.levels == nil {
			fresh = true
			err = l.look(ctx)
			hop = -1 // the new look may show segments worth another try
		} else {
			pending, err = l.merge(ctx, pending)
		}
		if errors.Is(err, ErrLayout) && layouts < maxLayouts {
			layouts++
			l.levels = nil
			continue
		}
		if err == nil && len(pending) > 0 {
			err = context.Cause(ctx)
		}
		if err != nil {
			return pending, unavailable(err, "sell")
		}
	}
	return nil, nil
}

// look reads what each segment holds.
func (l *lane) look(ctx context.Context) error {
	views, err := l.service.store.Views(ctx, l.sku)
	if err != nil {
		return unavailable(err, "look at the segments")
	}
	view, ok := views[l.sku]
	if l.deserted = !ok; l.deserted {
		return UnknownSKU(l.sku)
	}
	l.terms, l.layout, l.levels = &view.Terms, view.Layout, view.Segments
	l.seller.learn(view)
	return nil
}

// candidates returns the segments that can fill at least one request as far as we know: the one whose lock we hold
// alone if it can. Else all of them, spread.
func (l *lane) candidates(pending []*request) []int {
	smallest := int64(MaxQuantity)
	for _, r := range pending {
		smallest = min(smallest, r.order.Quantity)
	}
	var found []int
	for i, level := range l.levels {
		if level >= smallest {
			found = append(found, i)
		}
	}
	if l.holds() && slices.Contains(found, l.segment) {
		return []int{l.segment}
	}
	return l.spread(found)
}

// spread shuffles segments, so that lanes and processes spread over them. The one where we sold last comes first.
func (l *lane) spread(segments []int) []int {
	rand.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
	if at := slices.Index(segments, l.segment); at >= 0 {
		segments[0], segments[at] = segments[at], segments[0]
	}
	return segments
}

// deduct writes the requests that fit into the segment, in one batch, and returns the others.
func (l *lane) deduct(ctx context.Context, pending []*request) ([]*request, error) {
	fitting, rest := l.admit(pending)
	short, err := apart(fitting, func(requests []*request) ([]*request, error) { return l.write(ctx, requests) })
	if err != nil {
		l.levels = nil
	}
	return append(rest, short...), err
}

// write answers requests from the lane's segment, and returns those that turn out short, or were together with one that
// came too late.
func (l *lane) write(ctx context.Context, requests []*request) (short []*request, err error) {
	if requests = present(requests); len(requests) == 0 {
		return nil, nil
	}
	batch := Batch{
		SKU: l.sku, Layout: l.layout, Segment: l.segment, Limit: l.terms.PerBuyerLimit, SaleWindow: l.terms.SaleWindow(),
		Deadline: earliest(requests), At: l.service.at(), Orders: orders(requests), ExpectKnown: l.again > 0,
	}
	start := time.Now()
	var result BatchResult
	err = l.writeFenced(ctx, map[int]*locking.Hold{l.segment: l.hold}, func(fences map[int]Fence) (err error) {
		batch.Fence = fences[batch.Segment]
		result, err = l.service.store.Deduct(ctx, batch)
		return err
	})
	if errors.Is(err, ErrLate) {
		return requests, nil
	}
	if err != nil {
		l.noteGuard(err)
		return requests, err
	}
	l.noteSold(EventSale, result.At, result.Outcomes)
	l.levels[l.segment] = result.Available
	l.expect(result.Outcomes)
	l.service.observer.BatchWritten(len(requests), time.Since(start), batch.Fence.Token != 0)
	var limited []*request
	for i, r := range requests {
		switch o := result.Outcomes[i]; o.Kind {
		case Short:
			short = append(short, r)
		case Limited:
			limited = append(limited, r)
		case Closed:
			r.refuse(batch.SaleWindow.Refusal(l.sku, result.At))
		default:
			r.settle(o)
		}
	}
	return append(short, l.refuseLimited(ctx, limited, result.Stale)...), nil
}

// expect learns from a batch whether the next ones may have known orders: who retries is seldom alone.
func (l *lane) expect(outcomes []Outcome) {
	l.again = max(0, l.again-1)
	if slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Kind == Known }) {
		l.again = wary
	}
}

// apart does some work on requests together. Where a constraint fires, it does it on the halves of them, and on the
// halves of a half, until whoever violates it stands alone and is refused: one poisoned order must not cost its
// neighbours their answers. It returns the requests that have no answer, and the error they share.
func apart(requests []*request, work func([]*request) ([]*request, error)) (rest []*request, err error) {
	requests, err = work(requests)
	if !errors.Is(err, ErrGuard) || len(requests) == 1 {
		return requests, err
	}
	half := len(requests) / 2
	for at, part := range [][]*request{requests[:half], requests[half:]} {
		left, err := apart(part, work)
		switch {
		case errors.Is(err, ErrGuard):
			left[0].refuse(err)
		case err != nil:
			if at == 0 {
				left = append(left, requests[half:]...)
			}
			return append(rest, left...), err
		default:
			rest = append(rest, left...)
		}
	}
	return rest, nil
}

// admit splits requests by what the segment holds as far as we know. The store decides; this saves it the
// batches that cannot pass whole.
func (l *lane) admit(pending []*request) (fitting, rest []*request) {
	available := l.levels[l.segment]
	for _, r := range pending {
		if r.order.Quantity > available {
			rest = append(rest, r)
			continue
		}
		available -= r.order.Quantity
		fitting = append(fitting, r)
	}
	return fitting, rest
}

func (l *lane) noteGuard(err error) { l.service.noteGuard(l.sku, err) }

func (s *Service) noteGuard(sku string, err error) {
	if errors.Is(err, ErrGuard) {
		s.observer.GuardFired()
		s.log.Error("database guard fired", "sku", sku, "error", err)
	}
}

// settle answers a request that was accepted, now or before.
func (r *request) settle(o Outcome) {
	switch {
	case o.Kind == Accepted:
		r.tell(answer{deduction: o.Deduction, created: true})
	case o.Deduction.answers(r.order):
		r.tell(answer{deduction: o.Deduction})
	default:
		r.refuse(OrderIDReused())
	}
}

func orders(requests []*request) []Order {
	out := make([]Order, len(requests))
	for i, r := range requests {
		out[i] = r.order
	}
	return out
}

func sumOf(levels []int64) (sum int64) {
	for _, level := range levels {
		sum += level
	}
	return sum
}

// stocked returns the segments that hold something, and always the lane's own, ascending.
func (l *lane) stocked() []int {
	var found []int
	for i, level := range l.levels {
		if level > 0 || (i == l.segment && l.hold != nil) {
			found = append(found, i)
		}
	}
	return found
}
