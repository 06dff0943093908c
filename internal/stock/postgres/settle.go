package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

const lockSegment = `
SELECT available, fence, fence_owner FROM stock_segments WHERE sku_id = $1 AND segment = $2 FOR UPDATE`

const insertDeductions = `
INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
SELECT $1, o, nullif(b, ''), q, $2, 'committed', $6
FROM unnest($3::text[], $4::text[], $5::integer[]) AS asked (o, b, q)
ORDER BY o COLLATE "C"
ON CONFLICT (sku_id, order_id) DO NOTHING
RETURNING order_id`

const takeFromSegment = `
UPDATE stock_segments
SET available   = available - $3,
    version     = version + 1,
    fence       = CASE WHEN $4::bigint = 0 THEN fence ELSE $4 END,
    fence_owner = CASE WHEN $4 = 0 THEN fence_owner ELSE $5 END
WHERE sku_id = $1 AND segment = $2
RETURNING available`

// settle takes from a segment what fits, order by order, and says what the rest is: known, or short.
func (s *Store) settle(ctx context.Context, batch stock.Batch, first []int, result *stock.BatchResult) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		available, err := lockOne(ctx, tx, batch)
		if err != nil {
			return err
		}
		known, err := selectDeductions(ctx, tx, batch.SKU, idsOf(batch.Orders, first))
		if err != nil {
			return err
		}
		result.Available = available
		admitted := stock.Admit(batch.Orders, first, known, available, result.Outcomes)
		if len(admitted) == 0 {
			return nil
		}
		return insertAdmitted(ctx, tx, batch, admitted, result)
	})
}

// lockOne locks the row of the batch's segment and checks the fence on it.
func lockOne(ctx context.Context, tx pgx.Tx, batch stock.Batch) (available int64, err error) {
	var row stock.Fence
	err = tx.QueryRow(ctx, lockSegment, batch.SKU, batch.Segment).Scan(&available, &row.Token, &row.Owner)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, stock.UnknownSKU(batch.SKU)
	case err != nil:
		return 0, err
	case !batch.Fence.Passes(row):
		return 0, &stock.FencedError{Tokens: map[int]int64{batch.Segment: row.Token}}
	}
	return available, nil
}

// insertAdmitted inserts what was admitted and subtracts what was inserted. The two differ when another segment's
// transaction commits one of the order ids between our look and our insert.
func insertAdmitted(ctx context.Context, tx pgx.Tx, batch stock.Batch, admitted []int, result *stock.BatchResult) error {
	c := columnsOf(batch.Orders, admitted)
	rows, err := tx.Query(ctx, insertDeductions, batch.SKU, batch.Segment, c.orderIDs, c.buyerIDs, c.quantities, batch.At)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	inserted := make(map[string]bool, len(ids))
	for _, id := range ids {
		inserted[id] = true
	}
	var units int64
	var late []int
	for _, i := range admitted {
		o := batch.Orders[i]
		if !inserted[o.OrderID] {
			late = append(late, i)
			continue
		}
		result.Outcomes[i] = stock.AcceptedOutcome(batch.SKU, o)
		units += o.Quantity
	}
	if err := readKnown(ctx, tx, batch, late, result); err != nil || units == 0 {
		return err
	}
	return tx.QueryRow(ctx, takeFromSegment, batch.SKU, batch.Segment, units, batch.Fence.Token, batch.Fence.Owner).
		Scan(&result.Available)
}

func readKnown(ctx context.Context, tx pgx.Tx, batch stock.Batch, late []int, result *stock.BatchResult) error {
	if len(late) == 0 {
		return nil
	}
	known, err := selectDeductions(ctx, tx, batch.SKU, idsOf(batch.Orders, late))
	if err != nil {
		return err
	}
	for _, i := range late {
		if result.Outcomes[i], err = knownOutcome(known, batch.Orders[i].OrderID); err != nil {
			return err
		}
	}
	return nil
}

func idsOf(orders []stock.Order, indexes []int) []string {
	ids := make([]string, len(indexes))
	for n, i := range indexes {
		ids[n] = orders[i].OrderID
	}
	return ids
}
