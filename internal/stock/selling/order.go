package selling

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

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
	if refusal := s.refuseFromCache(order); refusal != nil {
		s.observe(Activity{Kind: SoldOutFromCache, Count: 1})
		return nil, false, refusal
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
	err = s.write(ctx, deadline, func(writing context.Context) (err error) {
		lines, created, err = s.place(ctx, writing, order.Sorted())
		return err
	})
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
		return nil, false, refusalOfAll(lines, stock.OrderEnded)
	}
	return lines, created, nil
}

// termsFirst gives the refusal of an order the reason of the first line that is refused by its terms, if there is one: more stock would not
// help.
func termsFirst(refusal *stock.Error) *stock.Error {
	for _, e := range refusal.Lines {
		if e.Code != stock.CodeSoldOut && e.Code != stock.CodeInsufficientStock {
			first := *e
			first.Lines = refusal.Lines
			return &first
		}
	}
	return refusal
}

// refuseFromCache refuses an order if lines are known to be sold out, and the others were seen to have enough in the last second.
// Otherwise it returns nil: a look names all lines that are short.
func (s *Service) refuseFromCache(order stock.MultiOrder) error {
	var refused []*stock.Error
	var rest []stock.Line
	for _, line := range order.Sorted().Lines {
		if err := s.soldOut.entry(line.SKU).refuse(order.Of(line).Key(), order.OrderID); err != nil {
			refused = append(refused, err)
		} else {
			rest = append(rest, line)
		}
	}
	if refused == nil || !s.viewed.has(rest, soldOutFor) {
		return nil
	}
	return stock.RefusedLines(refused)
}

// refusalOfAll is the error for an order of which no line holds anything: each line has its own.
func refusalOfAll(lines []stock.Deduction, of func(stock.Deduction) *stock.Error) error {
	all := of(lines[0])
	all.SKU = ""
	for _, d := range lines {
		all.Lines = append(all.Lines, of(d))
	}
	return all
}

// shopOrder returns the lines of an order that the shop made for a buyer under one of the buyer's own ids. If there is none,
// it returns the key of that id. If the id belongs to another order of the shop, or to one that was pruned, it returns the shop's
// key, under which the order is refused as the shop's own would be.
func (s *Service) shopOrder(ctx context.Context, order stock.MultiOrder) (lines []stock.Deduction, key string, err error) {
	there, err := read(ctx, s, nil, "read order", func() (*stock.PlacedOrder, error) { return s.store.PlacedOrder(ctx, order.OrderID) })
	if err != nil {
		return nil, "", err
	}
	handedOver := there != nil && !there.Pruned && there.OrderedBy != there.BuyerID // the buyer never ordered under this id
	if there == nil || handedOver || !there.IsOf(order.BuyerID) {
		return nil, stock.OrderKey(order.BuyerID, order.OrderID), nil
	}
	lines, _ = stock.Placement{Order: order}.Replay(there)
	return lines, order.OrderID, nil
}

// acceptedBefore returns the lines of an order that was accepted before, nil if it was not. One that was pruned is refused for the reason of
// today, that its SKUs are archived.
func (s *Service) acceptedBefore(ctx context.Context, order stock.MultiOrder) (lines []stock.Deduction, err error) {
	there, err := s.store.PlacedOrder(ctx, order.OrderID)
	if err != nil || there == nil || there.Pruned {
		return nil, stock.Unwritten(err)
	}
	return stock.Placement{Order: order}.Replay(there)
}

// place writes an order whose lines are sorted, unless its caller has left. An order whose SKUs were seen is written at once. If that
// does not take it, it is placed with care.
func (s *Service) place(caller, ctx context.Context, order stock.MultiOrder) (lines []stock.Deduction, created bool, err error) {
	if order.Own {
		if lines, order.OrderID, err = s.shopOrder(ctx, order); lines != nil || err != nil {
			return lines, false, err
		}
	}
	if len(order.Lines) <= mediumOrder { // a large one has a place of its own: written at once, it would hold up all others at their rows
		placed, fits := s.viewed.place(order, func(view stock.View, line stock.Line) bool {
			return view.Terms.PerBuyerLimit == 0 && s.refuses(view.Terms, line.SKU, order.Of(line)) == nil
		})
		if fits {
			lines, created, err = s.writeOrder(ctx, stock.Placement{Order: order, At: s.at(), Lines: placed, AtOnce: true})
			if !errors.Is(err, stock.ErrLayout) && !errors.Is(err, stock.ErrSpread) && !errors.Is(err, stock.ErrStale) {
				return lines, created, err
			}
		}
		deadline, _ := ctx.Deadline()
		leave, err := s.enter(caller, deadline, s.careful, order.Caller, len(order.Lines))
		if err != nil {
			return nil, false, err
		}
		defer leave()
	}
	return s.placeWithCare(caller, ctx, order)
}

// placeWithCare looks at the SKUs of an order, and then refuses it or writes it: each line from one segment, or from all segments together
// if no single one holds enough.
func (s *Service) placeWithCare(caller, ctx context.Context, order stock.MultiOrder) (lines []stock.Deduction, created bool, err error) {
	single := true // one segment is to fill each line
	held := 0      // tries that met a row which somebody else holds
	freed := 0     // tries after which units came back in a limit group
	for tries := 1; ctx.Err() == nil; tries++ {
		overtaken(ctx, tries)
		looked := time.Now()
		placement, refusal, err := s.look(ctx, order)
		switch {
		case errors.Is(err, stock.ErrLayout):
			continue
		case err != nil:
			return nil, false, stock.Unwritten(err)
		case refusal != nil:
			lines, err = s.acceptedBefore(ctx, order)
			if lines != nil || err != nil {
				return lines, false, err
			}
			if time.Since(looked) < soldOutFor { // otherwise it may no longer be true
				return nil, false, refusal
			}
			continue
		case single:
			placed, fits := s.viewed.place(order, nil)
			if fits && slices.EqualFunc(placed, placement.Lines, func(a, b stock.PlacedLine) bool { return a.Layout == b.Layout }) { // of the terms that allow it
				placement.Lines = placed
			}
		}
		switch placement.RowWait = rowWait; {
		case held == maxHops:
			placement.RowWait = longRowWait
		case held == maxHops+1:
			placement.Lines = fromFreeRows(placement.Lines)
		case held > maxHops+1: // no row of a SKU is free
			placement.RowWait = 0
		}
		if err := caller.Err(); err != nil {
			return nil, false, stock.Unwritten(err)
		}
		lines, created, err = s.writeOrder(ctx, placement)
		switch {
		case errors.Is(err, stock.ErrSpread):
			single = false
		case errors.Is(err, stock.ErrHeld) && !isRefusal(err):
			s.viewed.moveOn(order)
			held++
		case errors.Is(err, stock.ErrStale):
			if err := s.expireAll(ctx, order.SKUs()...); err != nil {
				return nil, false, err
			}
		case s.freedInGroup(ctx, err, &freed):
		case !errors.Is(err, stock.ErrLayout):
			return lines, created, err
		}
	}
	return nil, false, stock.Unwritten(context.Cause(ctx))
}

// freedInGroup reports whether a refusal by the limit of a group may not hold any more: reservations of the buyer had expired, and were
// given back. times counts that, to a bound.
func (s *Service) freedInGroup(ctx context.Context, refusal error, times *int) bool {
	e, is := errors.AsType[*stock.Error](refusal)
	if !is || e.LimitGroup == "" || *times == mostExpiries {
		return false
	}
	*times++
	due := s.dueInGroup(ctx, e.CountedAt(), e.LimitOf)
	return due != nil && s.expireAll(ctx, due...) == nil
}

// look reads the order's SKUs in one snapshot, and refuses the order if that does not allow it, by the terms or because there is too
// little: that saves a write of line after line just to find out. The refusal was true, but is no answer yet: the order is looked up,
// since it may have been accepted before. Only the write knows what the buyer has of a SKU with a limit.
//
// If expired reservations have not been given back, it gives them back and returns ErrLayout: look again.
func (s *Service) look(ctx context.Context, order stock.MultiOrder) (p stock.Placement, refusal, err error) {
	p = stock.Placement{Order: order, At: s.at(), Lines: make([]stock.PlacedLine, len(order.Lines))}
	began := time.Now()
	views, err := s.views(ctx, order.SKUs()...)
	if err != nil {
		return p, nil, err
	}
	var refused []*stock.Error
	for i, line := range order.Lines {
		view := views[line.SKU]
		p.Lines[i] = placedLine(view, stock.AllSegments)
		left := stock.Sum(view.Segments)
		if e, ok := errors.AsType[*stock.Error](s.refuses(view.Terms, line.SKU, order.Of(line))); ok {
			named := *e
			named.SKU = line.SKU
			refused = append(refused, &named)
			continue
		}
		switch {
		case left >= line.Quantity:
			continue
		case s.over(line.SKU, view.NextExpiry):
			return p, nil, cmp.Or(s.expire(ctx, line.SKU), stock.ErrLayout)
		default:
			refused = append(refused, stock.Shortage(line.SKU, left))
			if view.SoldOut() {
				s.cacheSoldOut(line.SKU)
			}
		}
	}
	s.viewed.learn(views, began)
	if refused != nil {
		refusal = termsFirst(stock.RefusedLines(refused))
	}
	return p, refusal, nil
}

// isRefusal reports whether an error is the answer to a caller.
func isRefusal(err error) bool {
	_, is := errors.AsType[*stock.Error](err)
	return is
}

// fromFreeRows has all lines taken from all segments whose rows nobody holds.
func fromFreeRows(lines []stock.PlacedLine) []stock.PlacedLine {
	free := slices.Clone(lines)
	for i := range free {
		free[i].Segment, free[i].Parts, free[i].FreeRows = stock.AllSegments, nil, true
	}
	return free
}

// placedLine says where a line is to be taken from.
func placedLine(view stock.View, segment int) stock.PlacedLine {
	return stock.PlacedLine{Batch: stock.Batch{
		Layout: view.Layout, Limit: view.Terms.PerBuyerLimit, LimitGroup: view.Terms.LimitGroup, SaleWindow: view.Terms.SaleWindow(), Segment: segment,
	}}
}

// writeOrder writes a placement.
func (s *Service) writeOrder(ctx context.Context, p stock.Placement) (lines []stock.Deduction, created bool, err error) {
	var emptied []string
	p.Emptied = func(sku string) { emptied = append(emptied, sku) }
	start := time.Now()
	lines, created, err = s.store.Order(ctx, p)
	if err != nil {
		s.noteGuard(p.Order.Lines[0].SKU, err)
		return nil, false, err
	}
	s.observe(Activity{Kind: OrderWritten, Count: len(lines), Took: time.Since(start)})
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

// inOrderOf returns deductions, which are ascending by SKU, in the order of the caller's lines. Of an order that was changed since, the
// lines that were added come last.
func inOrderOf(order stock.MultiOrder, lines []stock.Deduction) []stock.Deduction {
	place := make(map[string]int, len(order.Lines))
	for i, line := range order.Lines {
		place[line.SKU] = i
	}
	at := func(d stock.Deduction) int {
		if i, ordered := place[d.SKU]; ordered {
			return i
		}
		return len(order.Lines)
	}
	slices.SortStableFunc(lines, func(a, b stock.Deduction) int { return at(a) - at(b) })
	return lines
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
	return len(s.workers.bySKU) > 0 || time.Since(time.Unix(0, s.lastSmaller.Load())) < idleFor
}
