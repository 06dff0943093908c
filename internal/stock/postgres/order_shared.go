package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"inventory/internal/stock"
)

//go:embed order_shared.sql
var orderSharedFile string

var orderSharedSQL = strings.ReplaceAll(withInsertOf("sku", orderSharedFile, 18), "{columns}",
	stock.EachText(func(_ int, column string) string { return ", " + column }))

// mostSharedLines bounds the lines of one shared write of orders of several SKUs. A larger order goes by itself.
const mostSharedLines = 256

// sharedOrder is an order of several SKUs in a shared write, or before one.
type sharedOrder struct {
	stock.Placement
	ctx    context.Context //nolint:containedctx // of the caller, whose deadline the write keeps
	answer chan orderAnswer
}

// orderAnswer is what became of an order in a shared write.
type orderAnswer struct {
	at  *time.Time // when it was taken; nil: nothing of it is written, and it goes by itself
	err error      // the outcome is not known
}

// newOrderSharing returns what lets orders of several SKUs share a write.
func newOrderSharing(s *Store) *gatherer[*sharedOrder] {
	return &gatherer[*sharedOrder]{choose: chooseOrders, carry: s.orderShared}
}

// orderTogether places an order by a statement that it may share with others. It reports false where that has not taken it:
// then it goes by itself, and is decided as if this had not been tried.
func (s *Store) orderTogether(ctx context.Context, p stock.Placement) (lines []stock.Deduction, taken bool, err error) {
	if s.sharing.which == sharedNone || !mayShareOrder(ctx, p) {
		return nil, false, nil
	}
	o := &sharedOrder{Placement: p, ctx: ctx, answer: make(chan orderAnswer, 1)}
	s.orders.push(o)
	patience := time.NewTimer(writerWait)
	defer patience.Stop()
	for {
		select {
		case a := <-o.answer:
			if a.at == nil {
				return nil, false, a.err
			}
			return p.Taken(a.at.UTC()), true, nil
		case <-ctx.Done():
			s.orders.withdraw(o)
			return nil, false, ctx.Err()
		case <-patience.C:
			if s.orders.withdraw(o) {
				return nil, false, nil
			}
		}
	}
}

// mayShareOrder tells whether an order may go into a shared write: where each line has a segment, and no buyers are counted.
func mayShareOrder(ctx context.Context, p stock.Placement) bool {
	until, has := ctx.Deadline()
	return !p.KnownOnly && len(p.Lines) <= mostSharedLines && ctx.Err() == nil && (!has || time.Until(until) > sharedSlack) &&
		!slices.ContainsFunc(p.Lines, func(l stock.PlacedLine) bool { return l.Segment < 0 || l.Limit > 0 })
}

// segmentOf names a row of a segment.
type segmentOf struct {
	sku     string
	segment int
}

// chooseOrders takes those that have waited longest, as many lines as one write may have. Two orders that know another layout
// or fence of one row do not go together, nor do two of one id.
func chooseOrders(waiting []*sharedOrder) (taken, left []*sharedOrder) {
	rows, ids, lines := make(map[segmentOf]stock.PlacedLine), make(map[string]bool), 0
	left = waiting[:0]
	for _, o := range waiting {
		if lines+len(o.Lines) > mostSharedLines || ids[o.Order.OrderID] || !o.agrees(rows) {
			left = append(left, o)
			continue
		}
		lines += len(o.Lines)
		ids[o.Order.OrderID] = true
		for i, line := range o.Lines {
			rows[o.row(i)] = line
		}
		taken = append(taken, o)
	}
	return taken, left
}

func (o *sharedOrder) row(line int) segmentOf {
	return segmentOf{o.Order.Lines[line].SKU, o.Lines[line].Segment}
}

// agrees tells whether an order knows rows as others do.
func (o *sharedOrder) agrees(rows map[segmentOf]stock.PlacedLine) bool {
	for i, line := range o.Lines {
		if other, there := rows[o.row(i)]; there && (other.Layout != line.Layout || other.Fence != line.Fence) {
			return false
		}
	}
	return true
}

// orderShared writes orders in one statement, and answers them.
func (s *Store) orderShared(orders []*sharedOrder) {
	ctx, cancel := lastOf(len(orders), func(i int) context.Context { return orders[i].ctx })
	defer cancel()
	at, err := s.sendOrders(ctx, orders)
	if nothingWritten(err) {
		at, err = make([]*time.Time, len(orders)), nil
	}
	for i, o := range orders {
		if err != nil {
			o.answer <- orderAnswer{err: err}
		} else {
			o.answer <- orderAnswer{at: at[i]}
		}
	}
}

// sendOrders sends the statement. It returns when each order was taken, nil where it was not.
func (s *Store) sendOrders(ctx context.Context, orders []*sharedOrder) ([]*time.Time, error) {
	var taken []int64
	var instants []time.Time
	sent := time.Now()
	if err := s.pool.QueryRow(ctx, orderSharedSQL, s.orderArguments(orders)...).Scan(&taken, &instants); err != nil {
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
func (s *Store) orderArguments(orders []*sharedOrder) []any {
	var rows rowArrays
	numbers := make(map[segmentOf]int)
	var of, from []int64
	var quantities []int32
	ids, reserves := make([]string, len(orders)), make([]int64, len(orders))
	given, lines := make(instants, len(orders)), make([]int64, len(orders))
	texts := make([][]string, len(stock.KeptTexts()))
	var deadline time.Time
	for n, o := range orders {
		ids[n], reserves[n], lines[n] = o.Order.OrderID, o.Order.ReserveFor.Microseconds(), int64(len(o.Lines))
		given.set(n, o.At)
		for i, line := range o.Lines {
			row := o.row(i)
			number, there := numbers[row]
			if !there {
				number = rows.add(row, line)
				numbers[row] = number
			}
			quantity := o.Order.Lines[i].Quantity
			rows.units[number-1] += quantity
			of, from = append(of, int64(n+1)), append(from, int64(number))
			quantities = append(quantities, int32(quantity)) //nolint:gosec // at most stock.MaxQuantity
		}
		kept := o.Order.Of(o.Order.Lines[0])
		for i, text := range stock.KeptTexts() {
			texts[i] = append(texts[i], text.Get(kept))
		}
		until, _ := o.ctx.Deadline()
		deadline = earlier(deadline, until)
	}
	args := append(rows.arguments(), s.deadline(deadline), sharedWait, of, from, quantities, ids, reserves, given.orNull(), lines)
	for _, text := range texts {
		args = append(args, text)
	}
	return args
}

// rowArrays are what unnest turns into rows of segments that orders want units of.
type rowArrays struct {
	skus, owners           []string
	segments               []int32
	layouts, tokens, units []int64
	starts, ends           instants
}

// add adds a row, and returns its number, from 1.
func (r *rowArrays) add(row segmentOf, line stock.PlacedLine) int {
	r.skus, r.segments = append(r.skus, row.sku), append(r.segments, int32(row.segment)) //nolint:gosec // there are 1024 at most
	r.layouts, r.units = append(r.layouts, line.Layout), append(r.units, 0)
	r.tokens, r.owners = append(r.tokens, line.Fence.Token), append(r.owners, line.Fence.Owner)
	r.starts = append(r.starts, instantOrNull(line.SaleWindow.StartsAt))
	r.ends = append(r.ends, instantOrNull(line.SaleWindow.EndsAt))
	return len(r.skus)
}

func (r *rowArrays) arguments() []any {
	return []any{r.skus, r.segments, r.layouts, r.tokens, r.owners, r.units, r.starts.orNull(), r.ends.orNull()}
}
