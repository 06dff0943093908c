package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// It is one statement. So it waits for a copy of the order that is under way, and then writes nothing.
const insertOrder = `
WITH placed AS (
    INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at) VALUES ($1, nullif($2, ''), $3, coalesce($4::timestamptz, clock_timestamp()))
    ON CONFLICT (order_id) DO NOTHING
    RETURNING order_id
)
INSERT INTO order_lines (order_id, sku_id, quantity)
SELECT placed.order_id, line.sku_id, line.quantity
FROM placed, unnest($5::text[], $6::integer[]) AS line (sku_id, quantity)`

// Order implements [stock.Store].
//
// Where each line has a segment, one statement is tried first, which takes orders that wait at the same time together. It only
// says yes. All others have a transaction of their own.
//
// There its own row comes first, so copies of the order wait for each other. Then it locks the rows of all segments that it
// needs, and reads the instant of the decision. Then each line is a batch or a merge, all within the one transaction: all
// of them succeed, or none is written.
//
// At the coordinator of a cluster it is a transaction over nodes, and reads nothing of an order that is there already.
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	if lines, created, err = s.orderTogether(ctx, placement); created || err != nil {
		return lines, created, translate(err)
	}
	return s.orderAlone(ctx, placement)
}

// orderAlone places an order by a transaction of its own.
func (s *Store) orderAlone(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		placement := placement // whose instant a transaction that begins again reads anew
		if !placement.KnownOnly {
			if created, err = s.insertOrder(ctx, tx, &placement); err != nil {
				return err
			}
		}
		if !created && s.pool.dialect.routes() { // its lines are in other shards than the order, whose reader asks these
			return nil
		}
		if !created {
			there, err := tables.OrderWithLines(ctx, tx, placement.Order.OrderID)
			if err == nil {
				lines, err = placement.Replay(there)
			}
			return err
		}
		lines, err = placement.Place(func(line stock.Batch) (stock.BatchResult, error) {
			return s.deduct(ctx, tx, line)
		}, func(line stock.Merge) (stock.MergeResult, error) {
			return s.merge(ctx, tx, line)
		})
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

// insertOrder inserts the order, unless it is there already, locks what it needs, and sets the instant of its decision.
func (s *Store) insertOrder(ctx context.Context, tx transaction, placement *stock.Placement) (created bool, err error) {
	order := placement.Order
	skus, quantities := make([]string, len(order.Lines)), make([]int32, len(order.Lines))
	for i, line := range order.Lines {
		skus[i], quantities[i] = line.SKU, int32(line.Quantity) //nolint:gosec // at most stock.MaxQuantity
	}
	var rows int64
	trip := &pgx.Batch{}
	row := []any{order.OrderID, order.BuyerID, order.ReserveFor.Microseconds(), instant(placement.At)}
	if s.pool.dialect.routes() {
		trip.Queue(insertOrder, row...).Exec(countRows(&rows))
		trip.Queue(insertOrderLines, order.OrderID, skus, quantities)
	} else {
		trip.Queue(insertOrder, append(row, skus, quantities)...).Exec(countRows(&rows))
	}
	for i, line := range placement.Lines {
		if line.Segment < 0 {
			queueLockAll(trip, order.Lines[i].SKU)
		} else {
			queueLockSome(trip, order.Lines[i].SKU, line.Segment)
		}
	}
	s.queueInstant(trip, placement.At, &placement.At)
	return rows > 0, tx.send(ctx, trip)
}
