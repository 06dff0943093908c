package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Order implements [stock.Store].
//
// If each line has a segment, one statement is tried first, which orders that wait at the same time share. It only accepts, it
// does not refuse. All other orders have a transaction of their own.
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	if !placement.KnownOnly {
		if lines, created, err = s.Place(ctx, placement); created || err != nil {
			return lines, created, err
		}
	}
	lines, err = tables.ReplayOrder(ctx, noting{s.pool, s.clock}, placement)
	return lines, false, translate(err)
}

// Place takes an order, and reports false if it is there already.
func (s *Store) Place(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	if lines, created, err = s.orderTogether(ctx, placement); created || err != nil {
		return lines, created, translate(err)
	}
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		lines, created, err = tables.PlaceOrder(ctx, tx, placement, true, func(read, write *tables.Statements, line stock.Batch) func() (stock.BatchResult, error) {
			return deductBy(ctx, tx, read, write, line, placement.At)
		})
		if err == nil && created {
			err = s.inTime(ctx, tx, placement, lines)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

// inTime has an order that has waited since its decision begin again if a sale has ended meanwhile, and be reserved for as long as
// was asked.
func (s *Store) inTime(ctx context.Context, tx transaction, p stock.Placement, lines []stock.Deduction) error {
	_, now := s.Clock("")
	ended := func(l stock.PlacedLine) bool {
		return !l.SaleWindow.EndsAt.IsZero() && !now.Before(l.SaleWindow.EndsAt)
	}
	if p.At.IsZero() && slices.ContainsFunc(p.Lines, ended) {
		return tables.ErrRaced
	}
	taken := make([]*stock.Deduction, len(lines))
	for i := range lines {
		taken[i] = &lines[i]
	}
	return tx.postpone(ctx, p.At, taken)
}

// mostSharedLines bounds the lines of one shared write of orders of several SKUs. A larger order goes by itself.
const mostSharedLines = 256

// newOrderSharing returns a gatherer that lets orders of several SKUs share a write. The answer is when an order was taken.
func newOrderSharing(s *Store) *gatherer[stock.Placement, *time.Time] {
	carry := s.orderShared
	if write := s.pool.access.Orders; write != nil {
		carry = func(ctx context.Context, deadline time.Time, orders []stock.Placement) ([]*time.Time, error) {
			return write(ctx, s, deadline, orders)
		}
	}
	return &gatherer[stock.Placement, *time.Time]{room: roomForOrders, carry: carry}
}

// orderTogether places an order by a statement that it may share with others. It reports false if the statement has not taken
// the order: then it goes by itself.
func (s *Store) orderTogether(ctx context.Context, p stock.Placement) (lines []stock.Deduction, taken bool, err error) {
	if s.sharing.which == sharedNone || !mayShareOrder(p) {
		return nil, false, nil
	}
	at, err := s.orders.together(ctx, time.Time{}, p)
	if at == nil || err != nil {
		return nil, false, err
	}
	return p.Taken(at.UTC()), true, nil
}

// mayShareOrder reports whether an order may go into a shared write: each line has a segment, and no buyers are counted.
func mayShareOrder(p stock.Placement) bool {
	return len(p.Lines) <= mostSharedLines &&
		!slices.ContainsFunc(p.Lines, func(l stock.PlacedLine) bool { return l.Segment < 0 || l.Limit > 0 })
}

// segmentOf names a row of a segment.
type segmentOf struct {
	sku     string
	segment int
}

func rowOf(p stock.Placement, line int) segmentOf {
	return segmentOf{p.Order.Lines[line].SKU, p.Lines[line].Segment}
}

// roomForOrders takes as many lines as one write may have. Two orders that know different layouts or fences of one row do not
// go together, nor do two with one id.
func roomForOrders() func(stock.Placement) bool {
	rows, ids, lines := make(map[segmentOf]stock.PlacedLine), make(map[string]bool), 0
	return func(p stock.Placement) bool {
		if lines+len(p.Lines) > mostSharedLines || ids[p.Order.OrderID] || !agrees(p, rows) {
			return false
		}
		lines += len(p.Lines)
		ids[p.Order.OrderID] = true
		for i, line := range p.Lines {
			rows[rowOf(p, i)] = line
		}
		return true
	}
}

// agrees reports whether an order knows the same layouts and fences of rows as others do.
func agrees(p stock.Placement, rows map[segmentOf]stock.PlacedLine) bool {
	for i, line := range p.Lines {
		if other, there := rows[rowOf(p, i)]; there && (other.Layout != line.Layout || other.Fence != line.Fence) {
			return false
		}
	}
	return true
}

// orderShared writes orders in one statement. It returns when each was taken, nil if it was not.
func (s *Store) orderShared(ctx context.Context, deadline time.Time, orders []stock.Placement) ([]*time.Time, error) {
	var taken []int64
	var instants []time.Time
	var emptied []string
	sent := time.Now()
	if err := tables.Single(ctx, writing{s.pool}, []any{&taken, &instants, &emptied}, "order_shared", s.orderArguments(deadline, orders)...); err != nil {
		return nil, fmt.Errorf("place orders: %w", err)
	}
	at := make([]*time.Time, len(orders))
	for i, n := range taken {
		at[n-1] = &instants[i]
		orders[n-1].LeftEmpty(emptied)
		if orders[n-1].At.IsZero() {
			s.clock.note(sent, instants[i])
		}
	}
	return at, nil
}

// orderArguments returns the arguments of the statement.
func (s *Store) orderArguments(deadline time.Time, orders []stock.Placement) []any {
	o := tables.OrdersOf(orders)
	args := append(rowArguments(o.Rows), s.deadline(deadline), sharedWait, o.Of, o.From, o.Lines.Quantities,
		o.Heads.OrderIDs, o.Heads.Reserves, tables.OrNull(o.Given), o.Lengths)
	return append(args, o.Heads.Texts...)
}

// rowArguments returns the first arguments of a shared write.
func rowArguments(r tables.Rows) []any {
	return []any{r.SKUs, r.Segments, r.Layouts, r.Tokens, r.Owners, r.Units, tables.OrNull(r.Starts), tables.OrNull(r.Ends)}
}
