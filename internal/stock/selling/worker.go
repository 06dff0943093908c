package selling

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// The bounds of a lane.
const (
	batchLimit = 256                    // orders of one write; more, where more than batchParts times as many wait
	batchParts = 4                      // of a long queue, which one write takes one of
	turnWait  = 4 * time.Second        // an order that has waited for longer is not started
	maxHops    = 4                      // segments tried before a merge
	maxLayouts = 8                      // resegments that may come between, before a batch is given up
	workerIdle   = time.Second            // a lane without work for this long ends
	writeLimit = 10 * time.Second       // for what nobody waits for
	soldOutFor = time.Second            // for this long a refusal may rest on one look at the rows
	lockWait   = 100 * time.Millisecond // for the locks of a batch, and again for those of a merge, before it goes on under the guard
	lockTurn   = 25 * time.Millisecond  // a busy lane offers its lock to other processes this often
	lockLinger = 2 * time.Millisecond   // an idle lane gives its lock back after this
	retriesExpected       = 64                     // batches after one with a known order, of which more are expected
)

// lane serves orders of one SKU, in batches. One goroutine owns it.
type worker struct {
	service *Service
	seller  *seller
	sku     string
	queue   *queue

	notified     int64         // what of the seller's we know
	terms    *stock.Terms  // on which the SKU is sold; nil before the first look
	layout   int64         // that levels belong to
	levels   []int64       // per segment what it last held as far as we know; nil before the first look
	segment  int           // where we sell, or sold last
	hold     *locking.Hold // its lock; nil: none
	heldAt   time.Time
	soldOut  time.Time // when zero was confirmed over all segments; the zero time: not
	until    time.Time // when that ends by itself, because a reservation expires; the zero time: not
	sweeps   int       // of expired reservations, for the batch at hand
	retries    int       // so many batches from now on may have known orders
	coalescing     coalescer // of the batch before
	unknownSKU bool      // the SKU does not exist: end as soon as the queue is empty
}

// nowhere is the segment of a lane that has not sold yet.
const noSegment = -1

// run serves batches until the lane has been idle for a while or the service stops. It is the seller's first lane, and
// ends with it.
func (w *worker) run() {
	for {
		w.coalesce()
		batch := w.queue.pop(1, batchSize(w.queue.length()), turnWait)
		if len(batch) > 0 {
			taken := time.Now()
			w.serve(batch)
			w.coalescing.orders, w.coalescing.took = len(batch), time.Since(taken)
			w.takeTurns()
			continue
		}
		if w.idle() {
			return
		}
	}
}

// batchSize is how many orders one write takes. Where a lane falls behind, it costs more to get its turn between those
// who ask, again and again, than to write more at a time.
func batchSize(waiting int) int { return max(batchLimit, waiting/batchParts) }

// rest waits for a request. It gives the lock back soon, and reports true when the lane has ended.
func (w *worker) idle() (ended bool) {
	if w.hold != nil && w.within(lockLinger, w.queue.arrived) {
		return false
	}
	w.unlock()
	if !w.unknownSKU && w.within(workerIdle, w.queue.arrived) {
		return false
	}
	return w.service.retire(w.seller)
}

func (w *worker) within(d time.Duration, signal <-chan struct{}) bool {
	return w.service.within(d, signal)
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
func (w *worker) serve(batch []*request) {
	ctx, cancel := context.WithDeadline(w.service.base, lastDeadline(batch))
	defer cancel()
	taken := time.Now()
	for _, r := range batch {
		w.service.observer.Queued(taken.Sub(r.queued))
	}
	w.onNotification()
	rest, err := w.replyShopOrders(ctx, batch)
	if err == nil {
		rest, err = w.refuseByTerms(ctx, rest)
	}
	if err == nil {
		rest, err = w.refuseSoldOut(ctx, rest)
	}
	if err == nil {
		rest, err = w.sellToEach(ctx, rest)
	}
	for _, r := range rest {
		r.refuse(err)
	}
}

// hear forgets what stock from elsewhere has made wrong.
func (w *worker) onNotification() {
	if news := w.seller.notifications.Load(); news != w.notified {
		w.notified, w.levels, w.soldOut = news, nil, time.Time{}
	}
}

// sell moves over the segments that can fill something, and merges for what none of them can. It returns the
// requests that got no answer, and the error they all share.
func (w *worker) sell(ctx context.Context, pending []*request) ([]*request, error) {
	fresh := false // whether levels were read for this batch
	lockBy := time.Now().Add(lockWait)
	w.sweeps = 0
	for hop, layouts := 0, 0; len(pending) > 0; hop++ {
		var err error
		if candidates := w.candidates(pending); len(candidates) > 0 && hop < maxHops {
			w.moveTo(candidates, lockBy)
			pending, err = w.deduct(ctx, pending)
		} else if !fresh || w.levels == nil {
			fresh = true
			err = w.readSKU(ctx)
			hop = -1 // the new look may show segments worth another try
		} else {
			pending, err = w.merge(ctx, pending)
		}
		if errors.Is(err, stock.ErrLayout) && layouts < maxLayouts {
			layouts++
			w.levels = nil
			continue
		}
		if err == nil && len(pending) > 0 {
			err = context.Cause(ctx)
		}
		if err != nil {
			return pending, stock.Unavailable(err, "sell")
		}
	}
	return nil, nil
}

// look reads what each segment holds.
func (w *worker) readSKU(ctx context.Context) error {
	views, err := w.service.store.Views(ctx, w.sku)
	if err != nil {
		return stock.Unavailable(err, "look at the segments")
	}
	view, ok := views[w.sku]
	if w.unknownSKU = !ok; w.unknownSKU {
		return stock.UnknownSKU(w.sku)
	}
	w.terms, w.layout, w.levels = &view.Terms, view.Layout, view.Segments
	w.seller.learn(view)
	return nil
}

// candidates returns the segments that can fill at least one request as far as we know: the one whose lock we hold
// alone if it can. Else all of them, spread.
func (w *worker) candidates(pending []*request) []int {
	smallest := int64(stock.MaxQuantity)
	for _, r := range pending {
		smallest = min(smallest, r.order.Quantity)
	}
	var found []int
	for i, level := range w.levels {
		if level >= smallest {
			found = append(found, i)
		}
	}
	if w.holds() && slices.Contains(found, w.segment) {
		return []int{w.segment}
	}
	return w.spread(found)
}

// spread shuffles segments, so that lanes and processes spread over them. The one where we sold last comes first.
func (w *worker) spread(segments []int) []int {
	rand.Shuffle(len(segments), func(i, j int) { segments[i], segments[j] = segments[j], segments[i] })
	if at := slices.Index(segments, w.segment); at >= 0 {
		segments[0], segments[at] = segments[at], segments[0]
	}
	return segments
}

// deduct writes the requests that fit into the segment, in one batch, and returns the others.
func (w *worker) deduct(ctx context.Context, pending []*request) ([]*request, error) {
	fitting, rest := w.admit(pending)
	short, err := isolate(fitting, func(requests []*request) ([]*request, error) { return w.write(ctx, requests) })
	if err != nil {
		w.levels = nil
	}
	return append(rest, short...), err
}

// write answers requests from the lane's segment, and returns those that turn out short, or were together with one that
// came too late.
func (w *worker) write(ctx context.Context, requests []*request) (short []*request, err error) {
	if requests = stillWaiting(requests); len(requests) == 0 {
		return nil, nil
	}
	batch := stock.Batch{
		SKU: w.sku, Layout: w.layout, Segment: w.segment, Limit: w.terms.PerBuyerLimit, SaleWindow: w.terms.SaleWindow(),
		Deadline: firstDeadline(requests), At: w.service.at(), Orders: orders(requests), ExpectKnown: w.retries > 0,
	}
	start := time.Now()
	var result stock.BatchResult
	err = w.writeFenced(ctx, map[int]*locking.Hold{w.segment: w.hold}, func(fences map[int]stock.Fence) (err error) {
		batch.Fence = fences[batch.Segment]
		result, err = w.service.store.Deduct(ctx, batch)
		return err
	})
	if errors.Is(err, stock.ErrLate) {
		return requests, nil
	}
	if err != nil {
		w.noteGuard(err)
		return requests, err
	}
	w.noteSold(stock.EventSale, result.At, result.Outcomes)
	w.levels[w.segment] = result.Available
	w.noteRetries(result.Outcomes)
	w.service.observer.BatchWritten(len(requests), time.Since(start), batch.Fence.Token != 0)
	var limited []*request
	for i, r := range requests {
		switch o := result.Outcomes[i]; o.Kind {
		case stock.Short:
			short = append(short, r)
		case stock.Limited:
			limited = append(limited, r)
		case stock.Closed:
			r.refuse(batch.SaleWindow.Refusal(w.sku, result.At))
		default:
			r.replyOutcome(o)
		}
	}
	return append(short, w.refuseLimited(ctx, limited, result.Stale)...), nil
}

// expect learns from a batch whether the next ones may have known orders: who retries is seldom alone.
func (w *worker) noteRetries(outcomes []stock.Outcome) {
	w.retries = max(0, w.retries-1)
	if slices.ContainsFunc(outcomes, func(o stock.Outcome) bool { return o.Kind == stock.Known }) {
		w.retries = retriesExpected
	}
}

// apart does some work on requests together. Where a constraint fires, it does it on the halves of them, and on the
// halves of a half, until whoever violates it stands alone and is refused: one poisoned order must not cost its
// neighbours their answers. It returns the requests that have no answer, and the error they share.
func isolate(requests []*request, work func([]*request) ([]*request, error)) (rest []*request, err error) {
	requests, err = work(requests)
	if !errors.Is(err, stock.ErrGuard) || len(requests) == 1 {
		return requests, err
	}
	half := len(requests) / 2
	for at, part := range [][]*request{requests[:half], requests[half:]} {
		left, err := isolate(part, work)
		switch {
		case errors.Is(err, stock.ErrGuard):
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
func (w *worker) admit(pending []*request) (fitting, rest []*request) {
	available := w.levels[w.segment]
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

func (w *worker) noteGuard(err error) { w.service.noteGuard(w.sku, err) }

func (s *Service) noteGuard(sku string, err error) {
	if errors.Is(err, stock.ErrGuard) {
		s.observer.GuardFired()
		s.log.Error("database guard fired", "sku", sku, "error", err)
	}
}

// settle answers a request that was accepted, now or before.
func (r *request) replyOutcome(o stock.Outcome) {
	switch {
	case o.Kind == stock.Accepted:
		r.reply(answer{deduction: o.Deduction, created: true})
	case o.Deduction.Answers(r.order):
		r.reply(answer{deduction: o.Deduction})
	default:
		r.refuse(stock.OrderIDReused())
	}
}

func orders(requests []*request) []stock.Order {
	out := make([]stock.Order, len(requests))
	for i, r := range requests {
		out[i] = r.order
	}
	return out
}

// stocked returns the segments that hold something, and always the lane's own, ascending.
func (w *worker) stocked() []int {
	var found []int
	for i, level := range w.levels {
		if level > 0 || (i == w.segment && w.hold != nil) {
			found = append(found, i)
		}
	}
	return found
}
