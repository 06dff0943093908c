package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"inventory/internal/stock"
)

// Order implements [stock.Store].
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		lines, placement.At = nil, now(placement.At)
		if lines, err = readOrder(ctx, tx, placement); err != nil || lines != nil {
			return err
		}
		if placement.KnownOnly {
			return stock.UnknownDeduction(placement.Order.Lines[0].SKU, placement.Order.OrderID)
		}
		created = true
		if err := insertOrder(ctx, tx, placement); err != nil {
			return err
		}
		for i := range placement.Lines {
			d, err := s.takeLine(ctx, tx, placement, i)
			if err != nil {
				return err
			}
			lines = append(lines, d)
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

const selectOrder = `SELECT coalesce(buyer_id, ''), reserve_micros FROM orders WHERE order_id = $1`

// The lines of an order, each with its deduction. The quantity is what the line asked for.
const selectLines = `
SELECT d.order_id, coalesce(d.buyer_id, ''), d.quantity, l.quantity, d.status, d.created_at, d.expires_at, l.sku_id
FROM order_lines l JOIN deductions d USING (sku_id, order_id)
WHERE l.order_id = $1`

// readOrder returns the lines of an order that is there already, as they are now, and nil if it is not.
func readOrder(ctx context.Context, tx *transaction, placement stock.Placement) ([]stock.Deduction, error) {
	order := placement.Order
	var buyer string
	var reserve int64
	err := tx.QueryRowContext(ctx, selectOrder, order.OrderID).Scan(&buyer, &reserve)
	if errors.Is(err, sql.ErrNoRows) || (err == nil && placement.OfBuyer && buyer != order.BuyerID) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	there := make(map[string]stock.Deduction)
	err = eachRow(ctx, tx, func(rows *sql.Rows) error {
		var row deductionRow
		var sku string
		err := rows.Scan(append(row.columns(), &sku)...)
		there[sku] = row.read(sku)
		return err
	}, selectLines, order.OrderID)
	if err != nil {
		return nil, err
	}
	same := buyer == order.BuyerID && reserve == order.ReserveFor.Microseconds() && len(there) == len(order.Lines)
	lines := make([]stock.Deduction, len(order.Lines))
	for i, line := range order.Lines {
		lines[i] = there[line.SKU]
		same = same && lines[i].Asked == line.Quantity
	}
	if !same {
		return nil, stock.OrderIDReused()
	}
	return lines, nil
}

const insertOrderRow = `INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at) VALUES ($1, $2, $3, $4)`

const insertLine = `INSERT INTO order_lines (order_id, sku_id, quantity) VALUES ($1, $2, $3)`

func insertOrder(ctx context.Context, tx *transaction, p stock.Placement) error {
	o := p.Order
	_, err := tx.ExecContext(ctx, insertOrderRow, o.OrderID, orNull(o.BuyerID), o.ReserveFor.Microseconds(), micros(p.At))
	if err != nil {
		return err
	}
	for _, line := range o.Lines {
		if _, err := tx.ExecContext(ctx, insertLine, o.OrderID, line.SKU, line.Quantity); err != nil {
			return err
		}
	}
	return nil
}

// takeLine takes one line of an order, or says why that cannot be. What has expired is back before that is decided.
func (s *Store) takeLine(ctx context.Context, tx *transaction, p stock.Placement, i int) (stock.Deduction, error) {
	line := newLine(p, i)
	segments, err := readSegments(ctx, tx, line.sku)
	if err != nil {
		return stock.Deduction{}, err
	}
	if err := mayWrite(segments, line.Layout, line.fences()); err != nil {
		return stock.Deduction{}, err
	}
	if line.Segment >= len(segments) {
		return stock.Deduction{}, stock.ErrLayout
	}
	levels := levelsOf(segments)
	expired, err := s.expire(ctx, tx, line.sku, p.At, levels)
	if err != nil {
		return stock.Deduction{}, err
	}
	demand, err := s.demand(ctx, tx, line.sku, line.Limit, []stock.Order{line.order}, []int{0})
	if err != nil {
		return stock.Deduction{}, err
	}
	demand.Closed = line.SaleWindow.Refusal(line.sku, p.At) != nil
	plan, err := line.plan(levels, demand, p.At)
	if err != nil && expired == expiredAtOnce {
		err = stock.ErrStale
	}
	if err != nil {
		return stock.Deduction{}, err
	}
	d := stock.AcceptedOutcome(line.sku, line.order, p.At).Deduction
	return d, s.writeLine(ctx, tx, line, d, plan, p.At)
}

func (s *Store) writeLine(ctx context.Context, tx *transaction, line orderLine, d stock.Deduction, plan stock.MergePlan, at time.Time) error {
	if err := s.insertFrom(ctx, tx, d, plan.Parts[0], at); err != nil {
		return err
	}
	if err := s.countUnits(ctx, tx, line.sku, line.order, line.Limit); err != nil {
		return err
	}
	return s.changeAll(ctx, tx, line.sku, plan.Changes, plan.Reserved, line.fences())
}
