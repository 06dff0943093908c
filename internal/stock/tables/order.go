package tables

import (
	"context"
	"encoding/json"

	"inventory/internal/stock"
)

// Order reads an order of several SKUs that is there already, without its lines; nil if there is none.
func Order(ctx context.Context, q Querier, orderID string) (*stock.PlacedOrder, error) {
	var order stock.PlacedOrder
	found, err := One(ctx, q, headColumns(&order), "order", orderID)
	if err != nil || !found {
		return nil, err
	}
	return &order, nil
}

// headColumns returns where the columns of an order are scanned.
func headColumns(o *stock.PlacedOrder) []any {
	return []any{&o.BuyerID, &o.OrderedBy, (*Micros)(&o.ReserveFor), &o.Pruned}
}

// PlacedOrder implements [stock.Store].
func (b Base) PlacedOrder(ctx context.Context, orderID string) (*stock.PlacedOrder, error) {
	return placedOrder(ctx, b.DB, orderID)
}

func placedOrder(ctx context.Context, q Querier, orderID string) (there *stock.PlacedOrder, err error) {
	var order stock.PlacedOrder
	var line Deduction
	var revision int
	var removed bool
	var parts *string
	columns := append(append(headColumns(&order), line.Columns()...), &revision, &removed, &parts)
	order.From = make(map[string][]stock.Part)
	err = q.Each(ctx, func(row Row) error {
		if err := row.Scan(columns...); err != nil {
			return err
		}
		if d := line.Read(); d.SKU != "" {
			order.Add(d, revision, removed)
			if parts != nil {
				var from []stock.Part
				if err := json.Unmarshal([]byte(*parts), &from); err != nil {
					return err
				}
				order.From[d.SKU] = from
			}
		}
		there = &order
		return nil
	}, "placed_order", orderID)
	return there, err
}

// LineOf reads the line of an order by "line_of_order", and adds it to the order. It reports false if there is none.
func LineOf(ctx context.Context, q Querier, order *stock.PlacedOrder, sku, orderID string) (found bool, err error) {
	var line Deduction
	var revision int
	var removed bool
	found, err = One(ctx, q, append(line.Columns(), &revision, &removed), "line_of_order", sku, orderID)
	if found && err == nil {
		order.Add(line.Read(), revision, removed)
	}
	return found, err
}

// ReplayOrder answers a placement whose order was not inserted, from the order that is there and its lines.
func ReplayOrder(ctx context.Context, q Querier, p stock.Placement) ([]stock.Deduction, error) {
	there, err := placedOrder(ctx, q, p.Order.OrderID)
	if err != nil {
		return nil, err
	}
	return p.Replay(there)
}

// PlaceOrder places an order of several SKUs, unless it is there already.
//
// The order's own row comes first, so copies of the order wait for each other. Then PlaceOrder locks the rows of all segments
// that it needs, if the store locks rows (byRow), and reads the instant of the decision. Then each line is a batch or a merge, all
// in one transaction: all of them succeed, or none is written. All lines read in one message, and write in
// one: otherwise the rows would be held for two round trips more for each line.
func PlaceOrder(ctx context.Context, tx Tx, p stock.Placement, byRow bool) (lines []stock.Deduction, created bool, err error) {
	statements, o := &Statements{}, p.Order
	statements.Exec("insert_order", o.OrderID, o.BuyerID, o.ReserveFor.Microseconds(), At(p.At)).Wrote = wrote(&created)
	quantities := stock.Column(o.Lines, func(l stock.Line) int32 { return int32(l.Quantity) }) //nolint:gosec // at most stock.MaxQuantity
	statements.Exec("insert_lines", o.OrderID, o.SKUs(), quantities)
	if p.RowWait > 0 {
		tx.RowWait(statements, p.RowWait)
	}
	for i, line := range p.Lines {
		switch {
		case !byRow:
		case line.FreeRows:
			statements.LockFree(o.Lines[i].SKU)
		case line.Segment < 0:
			statements.LockAll(o.Lines[i].SKU)
		default:
			statements.LockSome(o.Lines[i].SKU, line.Segment)
		}
	}
	if p.RowWait > 0 {
		tx.RowWait(statements, 0)
	}
	tx.Instant(statements, p.At, &p.At)
	if err := tx.Send(ctx, statements); err != nil || !created {
		return nil, false, err
	}
	read, write, held := &Statements{}, &Statements{}, make(counts)
	read.LockCounted(countedInGroups(p))
	lines, err = p.Place(func(line stock.PlacedLine) func() (stock.BatchResult, error) {
		return prepareBatch(ctx, tx, read, write, line, held)
	}, func() error { return tx.Send(ctx, read) })
	if err == nil {
		err = tx.Send(ctx, write)
	}
	return lines, err == nil, err
}

// countedInGroups returns in which groups an order's buyer is counted: by lines, they would not be in ascending order.
func countedInGroups(p stock.Placement) (all []stock.Counted) {
	for _, line := range p.Lines {
		if line.Limit > 0 && line.LimitGroup != "" {
			all = append(all, stock.Counted{At: stock.CountOf("", line.LimitGroup), BuyerID: p.Order.BuyerID})
		}
	}
	return all
}
