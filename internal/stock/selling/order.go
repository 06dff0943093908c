package selling

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
	"inventory/internal/turns"
)

// Order deducts all lines of an order of several SKUs, or nothing. Created is false when the same order was accepted before;
// its lines are then returned as they are now, and CodeOrderEnded means that none of them holds anything any more. Refusals name the
// SKU and are not stored. CodeOrderIDReused means that the order id belongs to another order, or to a deduction of one of the SKUs.
func (s *Service) Order(ctx context.Context, order stock.MultiOrder) (lines []stock.Deduction, created bool, err error) {
	if err := order.Check(); err != nil {
		return nil, false, err
	}
	if len(order.Lines) <= mediumOrder {
		s.lastSmaller.Store(time.Now().UnixNano())
	}
	deadline := s.deadlineOf(ctx) // from before the wait for a turn
	places := s.placing
	if len(order.Lines) > mediumOrder {
		places = s.large
	}
	leave, err := s.enter(ctx, deadline, places, order.Caller, min(len(order.Lines), s.placing.Places))
	if err != nil {
		return nil, false, err
	}
	defer leave()
	writing, done, err := s.writeContext(ctx, deadline)
	if err != nil {
		return nil, false, err
	}
	defer done()
	lines, created, err = s.place(ctx, writing, order.Sorted())
	if err != nil {
		return nil, false, stock.Unavailable(err, "write order")
	}
	if lines, err = s.linesUpToDate(ctx, lines); created {
		err = stock.AfterWrite(err, "read the order")
	}
	if err != nil {
		return nil, false, err
	}
	for i := range lines {
		lines[i].OrderID = order.OrderID
	}
	if lines = inOrderOf(order, lines); !slices.ContainsFunc(lines, func(d stock.Deduction) bool { return d.Status.Live() }) {
		return nil, false, orderEnded(lines)
	}
	return lines, created, nil
}

// orderEnded is the error for an order of which no line holds anything.
func orderEnded(lines []stock.Deduction) error {
	ended := stock.OrderEnded(lines[0])
	ended.SKU = ""
	for _, d := range lines {
		ended.Lines = append(ended.Lines, stock.OrderEnded(d))
	}
	return ended
}

// shopOrder returns the lines of an order that the shop made for a buyer under one of the buyer's own ids. If there is none,
// it returns the key of that id. If the id belongs to another order of the shop, or to one that was pruned, it returns the shop's
// key, under which the order is refused as the shop's own would be.
func (s *Service) shopOrder(ctx context.Context, order stock.MultiOrder) (lines []stock.Deduction, key string, err error) {
	done, err := s.reading(ctx)
	if err != nil {
		return nil, "", err
	}
	defer done()
	lines, _, err = s.store.Order(ctx, stock.Placement{
		Order: order, At: s.at(), Lines: make([]stock.Batch, len(order.Lines)), KnownOnly: true, OfBuyer: true,
	})
	if stock.CodeOf(err) == stock.CodeUnknownDeduction {
		return nil, stock.OrderKey(order.BuyerID, order.OrderID), nil
	}
	if stock.CodeOf(err) == stock.CodeOrderIDReused {
		return nil, order.OrderID, nil
	}
	return lines, order.OrderID, stock.Unwritten(err)
}

// place writes an order whose lines are sorted, unless its caller has left. An order whose SKUs were seen is written at once. If that
// does not take it, it is placed with care.
func (s *Service) place(caller, ctx context.Context, order stock.MultiOrder) (lines []stock.Deduction, created bool, err error) {
	if order.Own {
		if lines, order.OrderID, err = s.shopOrder(ctx, order); lines != nil || err != nil {
			return lines, false, err
		}
	}
	if len(order.Lines) > mediumOrder { // it has the place of large ones: written at once, it would hold up all others at their rows
		return s.placeWithCare(caller, ctx, order)
	}
	placed, known := s.seen.place(order, s.refuses)
	p := stock.Placement{Order: order, At: s.at(), Lines: placed, AtOnce: true}
	if known && len(s.locksOf(p)) == 0 {
		lines, created, err = s.writeOrder(ctx, p)
		if !errors.Is(err, stock.ErrLayout) && !errors.Is(err, stock.ErrSpread) && !errors.Is(err, stock.ErrStale) {
			return lines, created, err
		}
		s.seen.forget(order)
	}
	deadline, _ := ctx.Deadline()
	leave, err := s.enter(caller, deadline, s.careful, order.Caller, len(order.Lines))
	if err != nil {
		return nil, false, err
	}
	defer leave()
	return s.placeWithCare(caller, ctx, order)
}

// placeWithCare looks at the SKUs of an order, and then refuses it or writes it: each line from one segment, under a MultiLock over those
// SKUs where a lock saves waiting, or from all segments together if no single one holds enough.
func (s *Service) placeWithCare(caller, ctx context.Context, order stock.MultiOrder) (lines []stock.Deduction, created bool, err error) {
	single := true // one segment is to fill each line
	for tries := 1; ctx.Err() == nil; tries++ {
		overtaken(ctx, tries)
		looked := time.Now()
		placement, views, refusal, err := s.readTerms(ctx, order)
		if err != nil {
			return nil, false, stock.Unwritten(err)
		}
		if refusal == nil {
			refusal, err = s.refuseOrder(ctx, placement, views)
		}
		placement.KnownOnly = refusal != nil
		switch {
		case errors.Is(err, stock.ErrLayout):
			continue
		case err != nil:
			return nil, false, stock.Unwritten(err)
		case refusal == nil && single:
			choose(&placement, views)
		}
		if err := caller.Err(); err != nil {
			return nil, false, stock.Unwritten(err)
		}
		lines, created, err = s.writeOrder(ctx, placement)
		switch {
		case errors.Is(err, stock.ErrSpread):
			single = false
		case errors.Is(err, stock.ErrStale):
			if err := s.expireAll(ctx, order.SKUs()...); err != nil {
				return nil, false, err
			}
		case refusal != nil && stock.CodeOf(err) == stock.CodeUnknownDeduction:
			if time.Since(looked) < soldOutFor { // otherwise it may no longer be true
				return nil, false, refusal
			}
		case !errors.Is(err, stock.ErrLayout):
			if created && single {
				s.seen.learn(views)
			}
			return lines, created, err
		}
	}
	return nil, false, stock.Unwritten(context.Cause(ctx))
}

// readTerms reads the order's SKUs and checks the order against their terms. A refusal is no answer yet: the order is
// looked up, since it may have been accepted before.
func (s *Service) readTerms(ctx context.Context, order stock.MultiOrder) (p stock.Placement, views map[string]stock.View, refusal, err error) {
	p = stock.Placement{Order: order, At: s.at(), Lines: make([]stock.Batch, len(order.Lines))}
	views, err = s.store.Views(ctx, order.SKUs()...)
	if err != nil {
		return p, nil, nil, err
	}
	for i, line := range order.Lines {
		view, ok := views[line.SKU]
		if !ok {
			return p, nil, nil, stock.UnknownSKU(line.SKU)
		}
		p.Lines[i] = placedLine(view, noSegment)
		if refusal == nil {
			refusal = s.refuses(view.Terms, line.SKU, order.Of(line))
		}
	}
	return p, views, refusal, nil
}

// placedLine says where a line is to be taken from.
func placedLine(view stock.View, segment int) stock.Batch {
	return stock.Batch{Layout: view.Layout, Limit: view.Terms.PerBuyerLimit, SaleWindow: view.Terms.SaleWindow(), Segment: segment}
}

// choose finds for each line a segment that holds enough, or otherwise several. All lines begin at one random number: two orders of the same SKUs that
// begin at different ones meet nowhere. If each line began at its own, large orders would nearly always meet somewhere.
func choose(p *stock.Placement, views map[string]stock.View) {
	start := rand.IntN(stock.MaxSegments)
	for i, line := range p.Order.Lines {
		segments := views[line.SKU].Segments
		first := start % len(segments)
		for n := range segments {
			segment := (first + n) % len(segments)
			if segments[segment] >= line.Quantity {
				p.Lines[i].Segment = segment
				segments[segment] -= line.Quantity
				break
			}
		}
		if p.Lines[i].Segment == noSegment && stock.Sum(segments) >= line.Quantity {
			p.Lines[i].Parts = stock.TakeFromFullest(segments, line.Quantity)
		}
	}
}

// writeOrder locks the segments of a placement and writes it.
func (s *Service) writeOrder(ctx context.Context, p stock.Placement) (lines []stock.Deduction, created bool, err error) {
	names := s.locksOf(p)
	hold := s.lockAll(ctx, names)
	if hold != nil {
		defer s.giveBack(hold)
	}
	fencePlacement(p, names, hold)
	var emptied []string
	p.Emptied = func(sku string) { emptied = append(emptied, sku) }
	start := time.Now()
	lines, created, err = s.store.Order(ctx, p)
	if errors.Is(err, stock.ErrFenced) { // another process has held a lock since: the guard alone decides
		s.observe(Activity{Kind: FencedOut})
		fencePlacement(p, nil, nil)
		lines, created, err = s.store.Order(ctx, p)
	}
	if err != nil {
		s.noteGuard(p.Order.Lines[0].SKU, err)
		return nil, false, err
	}
	s.observe(Activity{Kind: OrderWritten, Count: len(lines), Took: time.Since(start), Locked: hold != nil})
	for _, sku := range emptied {
		s.changed(sku, 0)
	}
	for _, d := range lines {
		if created {
			s.soldOut.invalidate(d.SKU)
			s.events.Publish(stock.Event{Kind: stock.EventSale, SKU: d.SKU, Orders: 1, Units: d.Quantity, At: s.now()})
		}
	}
	return lines, created, nil
}

// locksOf returns the locks of a placement that save waiting: those of SKUs that this process sells under a
// lock as well.
func (s *Service) locksOf(p stock.Placement) (names []lockName) {
	s.workers.RLock()
	defer s.workers.RUnlock()
	for i, line := range p.Lines {
		w := s.workers.selling[p.Order.Lines[i].SKU]
		if line.Segment != noSegment && (s.lockAlways || w != nil && w.locking.Load()) {
			names = append(names, lockName{sku: p.Order.Lines[i].SKU, segment: line.Segment})
		}
	}
	return names
}

// fencePlacement sets the tokens of a hold of some locks; nil for none.
func fencePlacement(p stock.Placement, names []lockName, hold *locking.Hold) {
	fences := make(map[lockName]stock.Fence, len(names))
	if hold != nil {
		for n, held := range hold.Parts() {
			fences[names[n]] = fenceOf(held)
		}
	}
	for i := range p.Lines {
		p.Lines[i].Fence = fences[lockName{sku: p.Order.Lines[i].SKU, segment: p.Lines[i].Segment}]
	}
}

// inOrderOf returns deductions in the order of the caller's lines.
func inOrderOf(order stock.MultiOrder, lines []stock.Deduction) []stock.Deduction {
	bySKU := make(map[string]stock.Deduction, len(lines))
	for _, d := range lines {
		bySKU[d.SKU] = d
	}
	out := make([]stock.Deduction, len(order.Lines))
	for i, line := range order.Lines {
		out[i] = bySKU[line.SKU]
	}
	return out
}

// refuseOrder returns why the views do not allow a new order of several SKUs that the terms allow; nil if they do. It saves
// a write of line after line just to find out. The views are one snapshot, so the refusal was true. Only an order that was
// accepted before gets another answer.
//
// If expired reservations have not been given back, it gives them back and returns ErrLayout: read the views again.
func (s *Service) refuseOrder(ctx context.Context, p stock.Placement, views map[string]stock.View) (refusal, err error) {
	room, err := s.roomFor(ctx, p)
	if err != nil {
		return nil, err
	}
	for i, line := range p.Order.Lines {
		view := views[line.SKU]
		left := stock.Sum(view.Segments)
		units, counted := room[line.SKU]
		limited := counted && line.Quantity > units
		switch {
		case !limited && left >= line.Quantity:
			continue
		case s.over(line.SKU, view.NextExpiry):
			if err := s.expire(ctx, line.SKU); err != nil {
				return nil, err
			}
			return nil, stock.ErrLayout
		case limited:
			return stock.BuyerLimited(line.SKU, p.Order.BuyerID, p.Lines[i].Limit), nil
		default:
			return stock.Shortage(line.SKU, left), nil
		}
	}
	return nil, nil
}

// roomFor reads how many units the buyer of an order may take of each of its SKUs that had a buyer limit when they were looked at: the
// limit and the count of one instant.
func (s *Service) roomFor(ctx context.Context, p stock.Placement) (map[string]int64, error) {
	var limited []string
	for i, line := range p.Lines {
		if line.Limit > 0 {
			limited = append(limited, p.Order.Lines[i].SKU)
		}
	}
	if limited == nil {
		return nil, nil
	}
	return s.store.BuyerRoom(ctx, p.Order.BuyerID, limited)
}

// Orders of several SKUs have very different sizes. So callers take turns by the lines that they order, and those that are under way
// have a bounded number of lines. An order that needs more than one write takes its time, and a connection: then few are under way.
const (
	placingLines = 2048            // lines of the orders that are under way
	placingAlone = 4               // orders that are placed with care, of at most mediumOrder lines
	mediumOrder  = 100             // lines; a larger order is always placed with care, and one at a time
	largeRest    = 3               // times as long as it took, the next large one leaves the rows to others
	turnWait     = 4 * time.Second // for a place
)

// makePlaces makes the places for which callers take turns.
func (s *Service) makePlaces() {
	s.many, s.placing = newPlacing(manyUnderWay), newPlacing(placingLines)
	s.careful = turns.New(turns.Config{Places: placingAlone, Waiting: queueLimit, Patience: turnWait})
	rest := func(_ int, took time.Duration) time.Duration {
		if !s.sellsSmaller() {
			return 0
		}
		return largeRest * took
	}
	s.large = turns.New(turns.Config{Places: 1, Waiting: queueLimit, Patience: turnWait, Rest: rest})
}

// newPlacing returns the places of requests with many orders or lines, of which so many are under way.
func newPlacing(most int) *turns.Turns {
	return turns.New(turns.Config{Places: most, Waiting: manyWaiting, Patience: turnWait, Weighed: true})
}

// sellsSmaller reports whether there are orders that are not large.
func (s *Service) sellsSmaller() bool {
	s.workers.RLock()
	defer s.workers.RUnlock()
	return len(s.workers.selling) > 0 || time.Since(time.Unix(0, s.lastSmaller.Load())) < idleFor
}

// mostSeen bounds how many SKUs [seen] has.
const mostSeen = 1 << 16

// seen is what this process has read of the SKUs that orders of several SKUs ask for. An order whose SKUs were all seen is written
// without a look at them. What was seen may be out of date, and costs only such a look then: the write compares the layout,
// which every change of the terms raises, and what the segments hold.
type seen struct {
	mu    sync.Mutex
	known map[string]*seenSKU // by SKU; when it is full, a new one takes the place of any other
}

// seenSKU is a SKU that was seen.
type seenSKU struct {
	stock.View     // less what orders have taken since
	segment    int // from which orders take, all the same one: so they meet neither each other nor, mostly, other processes
}

// learn keeps views of SKUs.
func (s *seen) learn(views map[string]stock.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sku, view := range views {
		if len(s.known) >= mostSeen {
			for other := range s.known {
				delete(s.known, other)
				break
			}
		}
		s.known[sku] = &seenSKU{view, rand.IntN(len(view.Segments))}
	}
}

// forget forgets the SKUs of an order.
func (s *seen) forget(order stock.MultiOrder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range order.Lines {
		delete(s.known, line.SKU)
	}
}

// place says from where an order is to be taken. It reports false if a SKU was not seen, has a buyer limit, seems to hold too little,
// or refuses the order by its terms.
func (s *seen) place(order stock.MultiOrder, refuses func(t stock.Terms, sku string, o stock.Order) error) (lines []stock.Batch, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines = make([]stock.Batch, len(order.Lines))
	for i, line := range order.Lines {
		k := s.known[line.SKU]
		if k == nil || k.Terms.PerBuyerLimit > 0 || refuses(k.Terms, line.SKU, order.Of(line)) != nil {
			return nil, false
		}
		switch {
		case k.take(line.Quantity):
			lines[i] = placedLine(k.View, k.segment)
		case stock.Sum(k.Segments) >= line.Quantity:
			lines[i] = placedLine(k.View, noSegment)
			lines[i].Parts = stock.TakeFromFullest(k.Segments, line.Quantity)
		default:
			return nil, false
		}
	}
	return lines, true
}

// take takes units from one segment. It reports false if none seems to hold so many.
func (k *seenSKU) take(units int64) bool {
	for range k.Segments {
		if k.Segments[k.segment] >= units {
			k.Segments[k.segment] -= units
			return true
		}
		k.segment = (k.segment + 1) % len(k.Segments)
	}
	return false
}
