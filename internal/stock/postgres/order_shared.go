package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

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
	sent := time.Now()
	if err := tables.Single(ctx, writing{s.pool}, []any{&taken, &instants}, "order_shared", s.orderArguments(deadline, orders)...); err != nil {
		return nil, fmt.Errorf("place orders: %w", err)
	}
	at := make([]*time.Time, len(orders))
	for i, n := range taken {
		at[n-1] = &instants[i]
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
