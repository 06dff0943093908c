package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// One statement, so that a copy of the order that is under way is waited for, and nothing is written beside it.
const insertOrder = `
WITH placed AS (
    INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at) VALUES ($1, nullif($2, ''), $3, coalesce($4::timestamptz, clock_timestamp()))
    ON CONFLICT (order_id) DO NOTHING
    RETURNING order_id
)
INSERT INTO order_lines (order_id, sku_id, quantity)
SELECT placed.order_id, line.sku_id, line.quantity
FROM placed, unnest($5::text[], $6::integer[]) AS line (sku_id, quantity)`

const selectOrder = `SELECT coalesce(buyer_id, ''), reserve_micros FROM orders WHERE order_id = $1`

const selectLines = `
SELECT` + deductionColumns + `
FROM order_lines l JOIN deductions d USING (sku_id, order_id)
WHERE l.order_id = $1 ORDER BY l.sku_id`

// Order implements [stock.Store].
//
// Its own row comes first, so copies of it wait for each other; then the rows of all segments that it needs, and the instant
// by which all of it is decided. Then each line is a batch or a merge of its own, within the one transaction: all of them
// succeed, or none is written.
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx pgx.Tx) error {
		if !placement.KnownOnly {
			if created, err = s.insertTheOrder(ctx, tx, &placement); err != nil {
				return err
			}
		}
		if !created {
			lines, err = theSame(ctx, tx, placement)
			return err
		}
		lines, err = s.placeLines(ctx, tx, placement)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

// insertTheOrder inserts the order, unless it is there already, locks what it needs, and sets the instant of its decision.
func (s *Store) insertTheOrder(ctx context.Context, tx pgx.Tx, placement *stock.Placement) (created bool, err error) {
	order := placement.Order
	skus, quantities := make([]string, len(order.Lines)), make([]int32, len(order.Lines))
	for i, line := range order.Lines {
		skus[i], quantities[i] = line.SKU, int32(line.Quantity) //nolint:gosec // at most stock.MaxQuantity
	}
	var rows int64
	trip := &pgx.Batch{}
	trip.Queue(insertOrder, order.OrderID, order.BuyerID, order.ReserveFor.Microseconds(), instant(placement.At), skus, quantities).
		Exec(countRows(&rows))
	for i, line := range placement.Lines {
		if line.Segment < 0 {
			queueLockAll(trip, order.Lines[i].SKU)
		} else {
			queueLockOne(trip, stock.Batch{SKU: order.Lines[i].SKU, Segment: line.Segment})
		}
	}
	at := s.queueInstant(trip, placement.At)
	if err := tx.SendBatch(ctx, trip).Close(); err != nil {
		return false, err
	}
	placement.At = *at
	return rows > 0, nil
}

// theSame returns the lines of an order that was there before, if it asked for the same.
func theSame(ctx context.Context, tx pgx.Tx, placement stock.Placement) ([]stock.Deduction, error) {
	order := placement.Order
	var buyer string
	var micros int64
	err := tx.QueryRow(ctx, selectOrder, order.OrderID).Scan(&buyer, &micros)
	if errors.Is(err, pgx.ErrNoRows) || (err == nil && placement.OfBuyer && buyer != order.BuyerID) {
		return nil, stock.UnknownDeduction(order.Lines[0].SKU, order.OrderID)
	}
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, selectLines, order.OrderID)
	if err != nil {
		return nil, err
	}
	var r deductionRow
	var lines []stock.Deduction
	_, err = pgx.ForEachRow(rows, r.columns(), func() error {
		lines = append(lines, r.read())
		return nil
	})
	if err != nil {
		return nil, err
	}
	same := buyer == order.BuyerID && time.Duration(micros)*time.Microsecond == order.ReserveFor && len(lines) == len(order.Lines)
	for i := 0; same && i < len(lines); i++ {
		same = lines[i].SKU == order.Lines[i].SKU && lines[i].Asked == order.Lines[i].Quantity
	}
	if !same {
		return nil, stock.OrderIDReused()
	}
	return lines, nil
}

// placeLines takes the lines one after another, ascending by SKU.
func (s *Store) placeLines(ctx context.Context, tx pgx.Tx, placement stock.Placement) ([]stock.Deduction, error) {
	lines := make([]stock.Deduction, len(placement.Lines))
	for i := range placement.Lines {
		outcome, err := s.placeLine(ctx, tx, placement, i)
		if err != nil {
			return nil, err
		}
		line, sku := placement.Lines[i], placement.Order.Lines[i].SKU
		switch outcome.Kind {
		case stock.Accepted:
			lines[i] = outcome.Deduction
		case stock.Known:
			return nil, stock.OrderIDReused()
		case stock.Limited:
			return nil, stock.BuyerLimited(sku, line.Limit)
		case stock.Closed:
			return nil, line.SaleWindow.Refusal(sku, placement.At)
		default:
			if line.Segment >= 0 {
				return nil, stock.ErrSpread
			}
			return nil, stock.Shortage(sku, outcome.Available)
		}
	}
	return lines, nil
}

// placeLine takes a line from its segment, or from all of them.
func (s *Store) placeLine(ctx context.Context, tx pgx.Tx, placement stock.Placement, i int) (stock.Outcome, error) {
	order, line := placement.Order, placement.Lines[i]
	asked := []stock.Order{{
		OrderID: order.OrderID, BuyerID: order.BuyerID, Quantity: order.Lines[i].Quantity, ReserveFor: order.ReserveFor,
	}}
	first := []int{0}
	if line.Segment < 0 {
		result, err := s.mergeAll(ctx, tx, stock.Merge{
			SKU: order.Lines[i].SKU, Layout: line.Layout, Limit: line.Limit, SaleWindow: line.SaleWindow, At: placement.At,
			Orders: asked,
		}, first)
		if err == nil && result.Stale && result.Outcomes[0].Kind != stock.Accepted {
			err = stock.ErrStale
		}
		return result.Outcomes[0], err
	}
	result, err := s.take(ctx, tx, stock.Batch{
		SKU: order.Lines[i].SKU, Layout: line.Layout, Segment: line.Segment, Fence: line.Fence, Limit: line.Limit,
		SaleWindow: line.SaleWindow, At: placement.At, Orders: asked,
	}, first)
	if err == nil && result.Stale { // with the rows of all segments, what has expired goes back first
		err = stock.ErrSpread
	}
	return result.Outcomes[0], err
}
