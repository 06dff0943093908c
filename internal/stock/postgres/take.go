package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/stock"
)

const lockSegment = `
SELECT available, fence, fence_owner, layout FROM stock_segments WHERE sku_id = $1 AND segment = $2 FOR UPDATE`

const insertDeductions = `
INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, expires_at, created_at)
SELECT $1, o, nullif(b, ''), q, $2, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       $7::timestamptz + nullif(r, 0) * interval '1 microsecond', $7
FROM unnest($3::text[], $4::text[], $5::integer[], $6::bigint[]) AS asked (o, b, q, r)
ORDER BY o COLLATE "C"
ON CONFLICT (sku_id, order_id) DO NOTHING`

const takeFromSegment = `
UPDATE stock_segments
SET available   = available - $3,
    reserved    = reserved + $6,
    version     = version + 1,
    fence       = CASE WHEN $4::bigint = 0 THEN fence ELSE $4 END,
    fence_owner = CASE WHEN $4 = 0 THEN fence_owner ELSE $5 END
WHERE sku_id = $1 AND segment = $2`

// deductLooking takes from a segment what fits, order by order, and says what the rest is: known, short, or limited.
func (s *Store) deductLooking(ctx context.Context, batch stock.Batch, first []int) (result stock.BatchResult, err error) {
	err = s.inTx(ctx, batch.Deadline, func(tx pgx.Tx) error {
		result, err = s.take(ctx, tx, batch, first)
		return err
	})
	return result, err
}

// take is a batch as a part of a transaction: it locks the segment, looks, decides, and writes.
//
// Only the segment is locked while it decides. What another segment's transaction commits between the look and the write,
// an order id or units of a buyer, the write finds missing: errRaced, and the transaction begins again.
func (s *Store) take(ctx context.Context, tx pgx.Tx, batch stock.Batch, first []int) (stock.BatchResult, error) {
	result := stock.BatchResult{Outcomes: make([]stock.Outcome, len(batch.Orders))}
	look := &pgx.Batch{}
	row := queueLockOne(look, batch)
	// Buyers before order ids: who finds a buyer's units finds the order as well.
	demand := queueDemand(look, batch.SKU, batch.Limit, batch.Orders, first)
	stale := false
	if batch.Limit > 0 {
		look.Queue(hasExpired, batch.SKU, instant(batch.At)).QueryRow(func(row pgx.Row) error { return row.Scan(&stale) })
	}
	at := s.queueInstant(look, batch.At)
	if err := tx.SendBatch(ctx, look).Close(); err != nil {
		return result, err
	}
	if err := row.check(ctx, tx, batch); err != nil {
		return result, err
	}
	demand.Closed = batch.SaleWindow.Refusal(batch.SKU, *at) != nil
	admitted := demand.Admit(first, row.available, result.Outcomes)
	result.Available, result.At = row.available, *at
	for _, i := range first {
		result.Stale = result.Stale || (stale && result.Outcomes[i].Kind == stock.Limited)
	}
	if len(admitted) == 0 {
		return result, nil
	}
	c := columnsOf(batch.Orders, admitted)
	result.Available -= c.units
	for _, i := range admitted {
		result.Outcomes[i] = stock.AcceptedOutcome(batch.SKU, batch.Orders[i], *at)
	}
	write := &pgx.Batch{}
	if batch.Limit > 0 {
		queueCount(write, batch.SKU, batch.Limit, batch.Orders, admitted)
	}
	write.Queue(insertDeductions, batch.SKU, batch.Segment, c.orderIDs, c.buyerIDs, c.quantities, c.reserves, *at).
		Exec(allOf(len(admitted)))
	write.Queue(takeFromSegment, batch.SKU, batch.Segment, c.units, batch.Fence.Token, batch.Fence.Owner, c.reserved)
	return result, tx.SendBatch(ctx, write).Close()
}

// countRows notes how many rows were written.
func countRows(rows *int64) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*rows = tag.RowsAffected()
		return nil
	}
}

// allOf expects so many rows written; fewer is a race.
func allOf(rows int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(rows) {
			return errRaced
		}
		return nil
	}
}

// queueLockOne locks the row of a batch's segment.
func queueLockOne(trip *pgx.Batch, batch stock.Batch) *segmentRow {
	r := &segmentRow{}
	trip.Queue(lockSegment, batch.SKU, batch.Segment).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&r.available, &r.fence.Token, &r.fence.Owner, &r.layout)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return r
}

// check holds a segment's row to the layout and the fence of a batch.
func (r *segmentRow) check(ctx context.Context, q querier, batch stock.Batch) error {
	switch {
	case r.layout == 0: // there is no such row
		if err := skuExists(ctx, q, batch.SKU); err != nil {
			return err
		}
		return stock.ErrLayout
	case r.layout != batch.Layout:
		return stock.ErrLayout
	case !batch.Fence.Passes(r.fence):
		return &stock.FencedError{Tokens: map[int]int64{batch.Segment: r.fence.Token}}
	}
	return nil
}

// queueDemand reads what the orders of a batch are decided by.
func queueDemand(trip *pgx.Batch, sku string, limit int64, orders []stock.Order, first []int) stock.Demand {
	demand := stock.Demand{Orders: orders, Limit: limit, Taken: make(map[string]int64)}
	if limit > 0 {
		queueTaken(trip, sku, stock.BuyersOf(orders, first), demand.Taken)
	}
	demand.Known = queueKnown(trip, sku, idsOf(orders, first))
	return demand
}

func idsOf(orders []stock.Order, indexes []int) []string {
	ids := make([]string, len(indexes))
	for n, i := range indexes {
		ids[n] = orders[i].OrderID
	}
	return ids
}
