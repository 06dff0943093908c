package selling

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"inventory/internal/stock"
)

// ChangeOrder gives an order of several SKUs other lines, all or nothing, and returns the order as it is then. Created is false when the
// same change was made before. A refusal names each line that refuses, and changes nothing.
// CodeOrderEnded: the order holds nothing any more. CodeRefReused: the order, or a line, has another change with the ref.
func (s *Service) ChangeOrder(ctx context.Context, change stock.OrderChange) (there stock.PlacedOrder, created bool, err error) {
	if err := change.Check(); err != nil {
		return there, false, err
	}
	deadline, orderID, buyerID := s.deadlineOf(ctx), change.OrderID, change.BuyerID
	keys, err := orderKeys(orderID, buyerID)
	if err != nil {
		return there, false, err
	}
	err = s.write(ctx, deadline, func(writing context.Context) (err error) {
		created, err = s.changeLines(writing, deadline, keys, change.Sorted())
		return err
	})
	if err != nil {
		return there, false, stock.Unavailable(err, "change order")
	}
	if change.NewBuyer != "" { // it is the shop's, also if the new buyer has an order of that id
		buyerID = ""
	}
	there, err = s.PlacedOrder(ctx, orderID, buyerID)
	if err == nil && !slices.ContainsFunc(there.Lines, func(d stock.Deduction) bool { return d.Status.Live() }) {
		err = refusalOfAll(there.Lines, stock.OrderEnded)
	}
	if err != nil {
		return stock.PlacedOrder{}, false, stock.AfterWrite(err, "read the order")
	}
	return there, created, nil
}

// changeLines looks the order up and changes it, and again if it or one of its SKUs has changed in between.
func (s *Service) changeLines(ctx context.Context, deadline time.Time, keys []string, change stock.OrderChange) (created bool, err error) {
	for tries, freed := 1, 0; ctx.Err() == nil; tries++ {
		overtaken(ctx, tries)
		r, err := s.lookToChange(ctx, keys, change)
		if err != nil {
			return false, stock.Unwritten(err)
		}
		r.Deadline = deadline
		start := time.Now()
		done, err := s.store.ChangeOrder(ctx, r)
		s.noteGuard(r.Lines[0].SKU, err)
		switch skus := stock.Column(r.Lines, func(l stock.RevisedLine) string { return l.SKU }); {
		case errors.Is(err, stock.ErrStale):
			if err := s.expireAll(ctx, skus...); err != nil {
				return false, err
			}
		case stock.CodeOf(err) == stock.CodeOrderEnded: // if it has expired, a write ends it before its caller is told
			if failed := s.expireAll(ctx, skus...); failed != nil {
				return false, failed
			}
			return false, err
		case s.freedInGroup(ctx, err, &freed):
		case !errors.Is(err, stock.ErrRevised) && !errors.Is(err, stock.ErrLayout):
			s.tellChange(r, done, time.Since(start), err)
			return done.Created, err
		}
	}
	return false, stock.Unwritten(context.Cause(ctx))
}

// lookToChange reads an order and the SKUs of its lines, those that it has and those that it shall have.
func (s *Service) lookToChange(ctx context.Context, keys []string, change stock.OrderChange) (r stock.Revision, err error) {
	there, key, err := s.findOrder(ctx, keys, change.BuyerID)
	if stock.CodeOf(err) == stock.CodeUnknownOrder && change.BuyerID != "" && change.NewBuyer != "" { // it may have changed hands
		there, key, err = s.findOrder(ctx, keys, change.NewBuyer)
		r.OnlyReplay = true
	}
	if err != nil {
		return r, err
	}
	if namespace, _ := stock.SplitOrderKey(key); namespace != "" && change.NewBuyer != "" {
		return r, stock.Invalid("buyer_id", "must be left out: the order id is one of its buyer's own")
	}
	change.OrderID = key
	r.Change, r.Order, r.At = change, there, s.at()
	was := make(map[string]int64)
	for _, d := range there.Removed {
		was[d.SKU] = 0
	}
	for _, line := range change.Lines {
		was[line.SKU] = 0
	}
	for _, d := range there.Lines {
		if was[d.SKU] = 0; d.Status.Live() {
			was[d.SKU] = d.Quantity
		}
	}
	for _, d := range there.Removed { // one that stays removed concerns nobody
		if change.Units(d.SKU) == 0 {
			delete(was, d.SKU)
		}
	}
	skus := make([]string, 0, len(was))
	for sku := range was {
		skus = append(skus, sku)
	}
	slices.SortFunc(skus, strings.Compare)
	views, err := s.views(ctx, skus...)
	if err != nil {
		return r, err
	}
	for _, sku := range skus {
		r.Lines = append(r.Lines, s.revisedLine(r, views[sku], sku, was[sku]))
	}
	return r, nil
}

// revisedLine returns a line of a change, and why the terms do not allow it to have more units. They bound the line as a whole, and all
// else counts the units that it takes.
func (s *Service) revisedLine(r stock.Revision, view stock.View, sku string, was int64) stock.RevisedLine {
	line := stock.RevisedLine{Batch: placedLine(view, stock.AllSegments).Batch, Was: was, Levels: view.Segments}
	line.SKU, line.At = sku, r.At
	if want := r.Change.Units(sku); want > was {
		order := stock.Order{OrderID: r.Change.OrderID, BuyerID: r.Buyer(), Quantity: want, CallerMax: r.Change.CallerMax}
		_, latest := s.between(sku)
		for _, d := range r.Order.Lines {
			if d.Status == stock.StatusReserved {
				order.ReserveFor = max(order.ReserveFor, d.ExpiresAt.Sub(latest)) // until its end, which stays
			}
		}
		line.Refusal = s.refuses(view.Terms, sku, order)
	}
	return line
}

// tellChange tells of units that have come back and of those that were sold, by a write that took some time.
func (s *Service) tellChange(r stock.Revision, done stock.Revised, took time.Duration, err error) {
	now := s.now()
	for i, line := range r.Lines {
		switch {
		case err != nil:
			s.cameBack(line.SKU, 0, r.Moves(line) && !r.NeedsUnits(line))
		case done.Created:
			plan := done.Plans[i]
			s.cameBack(line.SKU, plan.Units(), plan.Units() > 0)
			if more := plan.More(); more > 0 {
				s.soldOut.invalidate(line.SKU)
				s.changed(line.SKU, 0)
				s.events.Publish(stock.Event{Kind: stock.EventSale, SKU: line.SKU, Orders: 1, Units: more, At: now})
			}
		}
	}
	if done.Created {
		s.observe(Activity{Kind: OrderWritten, Count: len(r.Lines), Took: took})
	}
}
