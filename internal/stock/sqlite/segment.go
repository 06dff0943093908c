package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"inventory/internal/stock"
)

const selectSegment = `SELECT available, layout, fence, fence_owner FROM stock_segments WHERE sku_id = $1 AND segment = $2`

// readSegment reads what one segment holds, for a writer who knows of a layout and has a fence.
func (s *Store) readSegment(ctx context.Context, tx *transaction, batch stock.Batch) (available int64, err error) {
	var layout int64
	var row stock.Fence
	err = tx.QueryRowContext(ctx, selectSegment, batch.SKU, batch.Segment).
		Scan(&available, &layout, &row.Token, &row.Owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, whyNoSegment(ctx, tx, batch.SKU)
	case err != nil:
		return 0, err
	case layout != batch.Layout:
		return 0, stock.ErrLayout
	case !batch.Fence.Passes(row):
		return 0, &stock.FencedError{Tokens: map[int]int64{batch.Segment: row.Token}}
	}
	return available, nil
}

// whyNoSegment tells why a SKU lacks a segment: there is no such SKU, or it has other segments.
func whyNoSegment(ctx context.Context, q querier, sku string) error {
	if err := exists(ctx, q, sku); err != nil {
		return err
	}
	return stock.ErrLayout
}

// segmentRow is what writers have to know of a segment.
type segmentRow struct {
	available, reserved, layout, version int64
	fence                                stock.Fence
}

const selectSegments = `
SELECT available, reserved, layout, version, fence, fence_owner FROM stock_segments WHERE sku_id = $1 ORDER BY segment`

// readSegments reads all segments of a SKU, of which there is at least one.
func readSegments(ctx context.Context, q querier, sku string) (segments []segmentRow, err error) {
	err = eachRow(ctx, q, func(rows *sql.Rows) error {
		var row segmentRow
		err := rows.Scan(&row.available, &row.reserved, &row.layout, &row.version, &row.fence.Token, &row.fence.Owner)
		segments = append(segments, row)
		return err
	}, selectSegments, sku)
	if err == nil && segments == nil {
		err = stock.UnknownSKU(sku)
	}
	return segments, err
}

// mayWrite refuses a writer who knows of another layout, or has an older fence than one of the segments.
func mayWrite(segments []segmentRow, layout int64, fences map[int]stock.Fence) error {
	if segments[0].layout != layout {
		return stock.ErrLayout
	}
	refused := make(map[int]int64)
	for segment, row := range segments {
		if !fences[segment].Passes(row.fence) {
			refused[segment] = row.fence.Token
		}
	}
	if len(refused) > 0 {
		return &stock.FencedError{Tokens: refused}
	}
	return nil
}

// levelsOf is what each segment holds.
func levelsOf(segments []segmentRow) []int64 {
	levels := make([]int64, len(segments))
	for segment, row := range segments {
		levels[segment] = row.available
	}
	return levels
}

// Adds $3 units, which may be below zero, under the fence $4 of owner $5; 0 is no fence. $6 units more are reserved.
const changeSegment = `
UPDATE stock_segments
SET available   = available + $3,
    reserved    = reserved + $6,
    version     = version + 1,
    fence       = CASE WHEN $4 = 0 THEN fence ELSE $4 END,
    fence_owner = CASE WHEN $4 = 0 THEN fence_owner ELSE $5 END
WHERE sku_id = $1 AND segment = $2`

// change adds units to a segment, which may be below zero, and to what reservations have taken from it.
func (s *Store) change(ctx context.Context, tx *transaction, sku string, segment int, units, reserved int64, fence stock.Fence) error {
	_, err := tx.ExecContext(ctx, changeSegment, sku, segment, units, fence.Token, fence.Owner, reserved)
	return err
}

// changeAll adds to each segment its units, and to what reservations have taken from it; nil for nothing.
func (s *Store) changeAll(ctx context.Context, tx *transaction, sku string, units, reserved []int64, fences map[int]stock.Fence) error {
	if reserved == nil {
		reserved = make([]int64, len(units))
	}
	for segment, n := range units {
		if n == 0 && reserved[segment] == 0 {
			continue
		}
		if err := s.change(ctx, tx, sku, segment, n, reserved[segment], fences[segment]); err != nil {
			return err
		}
	}
	return nil
}
