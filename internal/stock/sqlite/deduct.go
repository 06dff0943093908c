package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"inventory/internal/stock"
)

const insertDeduction = `
INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
VALUES ($1, $2, nullif($3, ''), $4, $5, 'committed', $6)`

// Adds $3 units, which may be below zero, under the fence $4 of owner $5; 0 is no fence.
const changeSegment = `
UPDATE stock_segments
SET available   = available + $3,
    version     = version + 1,
    fence       = CASE WHEN $4 = 0 THEN fence ELSE $4 END,
    fence_owner = CASE WHEN $4 = 0 THEN fence_owner ELSE $5 END
WHERE sku_id = $1 AND segment = $2`

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	first, repeats := stock.Unique(batch.Orders)
	result := stock.BatchResult{Outcomes: make([]stock.Outcome, len(batch.Orders))}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		var err error
		if result.Available, err = readSegment(ctx, tx, batch); err != nil {
			return err
		}
		known, err := selectDeductions(ctx, tx, batch.SKU, idsOf(batch.Orders, first))
		if err != nil {
			return err
		}
		admitted := stock.Admit(batch.Orders, first, known, result.Available, result.Outcomes)
		units, err := insertAll(ctx, tx, batch, admitted, result.Outcomes)
		if err != nil || units == 0 {
			return err
		}
		result.Available -= units
		_, err = tx.ExecContext(ctx, changeSegment, batch.SKU, batch.Segment, -units, batch.Fence.Token, batch.Fence.Owner)
		return err
	})
	if err != nil {
		return stock.BatchResult{}, err
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

// insertAll inserts the admitted orders of a batch and returns their units.
func insertAll(ctx context.Context, tx *sql.Tx, batch stock.Batch, admitted []int, outcomes []stock.Outcome) (units int64, err error) {
	if len(admitted) == 0 {
		return 0, nil
	}
	insert, err := tx.PrepareContext(ctx, insertDeduction)
	if err != nil {
		return 0, err
	}
	defer insert.Close() //nolint:errcheck // it ends with the transaction anyway
	for _, i := range admitted {
		o := batch.Orders[i]
		if _, err := insert.ExecContext(ctx, batch.SKU, o.OrderID, o.BuyerID, o.Quantity, batch.Segment, micros(batch.At)); err != nil {
			return 0, err
		}
		outcomes[i] = stock.AcceptedOutcome(batch.SKU, o)
		units += o.Quantity
	}
	return units, nil
}

const selectSegment = `SELECT available, fence, fence_owner FROM stock_segments WHERE sku_id = $1 AND segment = $2`

// readSegment reads the batch's segment and checks the fence on it.
func readSegment(ctx context.Context, tx *sql.Tx, batch stock.Batch) (available int64, err error) {
	var row stock.Fence
	err = tx.QueryRowContext(ctx, selectSegment, batch.SKU, batch.Segment).Scan(&available, &row.Token, &row.Owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, stock.UnknownSKU(batch.SKU)
	case err == nil && !batch.Fence.Passes(row):
		return 0, stock.ErrFenced
	}
	return available, err
}

const selectSegments = `SELECT available, fence, fence_owner FROM stock_segments WHERE sku_id = $1 ORDER BY segment`

// readSegments reads all segments of a SKU and checks the fences on them.
func readSegments(ctx context.Context, tx *sql.Tx, sku string, fences map[int]stock.Fence) (segments []int64, err error) {
	err = eachRow(ctx, tx, func(rows *sql.Rows) error {
		var available int64
		var row stock.Fence
		if err := rows.Scan(&available, &row.Token, &row.Owner); err != nil {
			return err
		}
		if !fences[len(segments)].Passes(row) {
			return stock.ErrFenced
		}
		segments = append(segments, available)
		return nil
	}, selectSegments, sku)
	if err == nil && segments == nil {
		err = stock.UnknownSKU(sku)
	}
	return segments, err
}

func idsOf(orders []stock.Order, indexes []int) []string {
	ids := make([]string, len(indexes))
	for n, i := range indexes {
		ids[n] = orders[i].OrderID
	}
	return ids
}

func micros(t time.Time) int64 { return t.UnixMicro() }
