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
VALUES ($1, $2, $3, $4, $5, 'committed', $6)
ON CONFLICT (sku_id, order_id) DO NOTHING`

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
		// The driver has a goroutine watch every statement that can be cancelled. A batch takes milliseconds.
		ctx := context.WithoutCancel(ctx)
		var err error
		if result.Available, err = s.readSegment(ctx, tx, batch); err != nil {
			return err
		}
		admitted, err := admit(ctx, tx, batch, first, result)
		if err != nil {
			return err
		}
		units, err := s.insertAll(ctx, tx, batch, admitted, result.Outcomes)
		if err != nil || units == 0 {
			return err
		}
		result.Available -= units
		_, err = tx.StmtContext(ctx, s.changeSegment).ExecContext(ctx, batch.SKU, batch.Segment, -units, batch.Fence.Token, batch.Fence.Owner)
		return err
	})
	if err != nil {
		return stock.BatchResult{}, err
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

// admit returns which orders are to be inserted. Where all of them fit, none has to be looked up before.
func admit(ctx context.Context, tx *sql.Tx, batch stock.Batch, first []int, result stock.BatchResult) ([]int, error) {
	var units int64
	for _, i := range first {
		units += batch.Orders[i].Quantity
	}
	if units <= result.Available {
		return first, nil
	}
	known, err := selectDeductions(ctx, tx, batch.SKU, idsOf(batch.Orders, first))
	if err != nil {
		return nil, err
	}
	return stock.Admit(batch.Orders, first, known, result.Available, result.Outcomes), nil
}

// insertAll inserts the admitted orders of a batch, sets their outcomes, and returns the units of those that were not
// there before.
func (s *Store) insertAll(ctx context.Context, tx *sql.Tx, batch stock.Batch, admitted []int, outcomes []stock.Outcome) (units int64, err error) {
	if len(admitted) == 0 {
		return 0, nil
	}
	insert := tx.StmtContext(ctx, s.insertDeduction)
	var before []int
	for _, i := range admitted {
		o := batch.Orders[i]
		done, err := insert.ExecContext(ctx, batch.SKU, o.OrderID, orNull(o.BuyerID), o.Quantity, batch.Segment, micros(batch.At))
		if err != nil {
			return 0, err
		}
		if n, err := done.RowsAffected(); err != nil {
			return 0, err
		} else if n == 0 {
			before = append(before, i)
			continue
		}
		outcomes[i] = stock.AcceptedOutcome(batch.SKU, o)
		units += o.Quantity
	}
	return units, readKnown(ctx, tx, batch, before, outcomes)
}

// readKnown sets the outcomes of orders that were there before.
func readKnown(ctx context.Context, tx *sql.Tx, batch stock.Batch, before []int, outcomes []stock.Outcome) error {
	if len(before) == 0 {
		return nil
	}
	known, err := selectDeductions(ctx, tx, batch.SKU, idsOf(batch.Orders, before))
	for _, i := range before {
		outcomes[i] = stock.Outcome{Verdict: stock.Known, Deduction: known[batch.Orders[i].OrderID]}
	}
	return err
}

const selectSegment = `SELECT available, fence, fence_owner FROM stock_segments WHERE sku_id = $1 AND segment = $2`

// readSegment reads the batch's segment and checks the fence on it.
func (s *Store) readSegment(ctx context.Context, tx *sql.Tx, batch stock.Batch) (available int64, err error) {
	var row stock.Fence
	err = tx.StmtContext(ctx, s.selectSegment).QueryRowContext(ctx, batch.SKU, batch.Segment).Scan(&available, &row.Token, &row.Owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, stock.UnknownSKU(batch.SKU)
	case err == nil && !batch.Fence.Passes(row):
		return 0, &stock.FencedError{Tokens: map[int]int64{batch.Segment: row.Token}}
	}
	return available, err
}

const selectSegments = `SELECT available, fence, fence_owner FROM stock_segments WHERE sku_id = $1 ORDER BY segment`

// readSegments reads all segments of a SKU and checks the fences on them.
func readSegments(ctx context.Context, tx *sql.Tx, sku string, fences map[int]stock.Fence) (segments []int64, err error) {
	refused := make(map[int]int64)
	err = eachRow(ctx, tx, func(rows *sql.Rows) error {
		var available int64
		var row stock.Fence
		if err := rows.Scan(&available, &row.Token, &row.Owner); err != nil {
			return err
		}
		if segment := len(segments); !fences[segment].Passes(row) {
			refused[segment] = row.Token
		}
		segments = append(segments, available)
		return nil
	}, selectSegments, sku)
	switch {
	case err != nil:
		return nil, err
	case segments == nil:
		return nil, stock.UnknownSKU(sku)
	case len(refused) > 0:
		return nil, &stock.FencedError{Tokens: refused}
	}
	return segments, nil
}

func idsOf(orders []stock.Order, indexes []int) []string {
	ids := make([]string, len(indexes))
	for n, i := range indexes {
		ids[n] = orders[i].OrderID
	}
	return ids
}

// orNull is a text, or null where there is none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func micros(t time.Time) int64 { return t.UnixMicro() }
