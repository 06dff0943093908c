package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const selectSegment = `
SELECT available, reserved, layout, version, fence, fence_owner FROM stock_segments WHERE sku_id = $1 AND segment = $2`

// readSegment reads a segment; the zero row is one that is not there.
func readSegment(ctx context.Context, tx *transaction, sku string, segment int) (row stock.Segment, err error) {
	found, err := tables.One(ctx, tx, columnsOf(&row), selectSegment, sku, segment)
	if err == nil && !found {
		err = tables.SKUExists(ctx, tx, sku)
	}
	return row, err
}

func columnsOf(row *stock.Segment) []any {
	return []any{&row.Available, &row.Reserved, &row.Layout, &row.Version, &row.Fence.Token, &row.Fence.Owner}
}

const selectSegments = `
SELECT available, reserved, layout, version, fence, fence_owner FROM stock_segments WHERE sku_id = $1 ORDER BY segment`

// readSegments reads all segments of a SKU, of which there is at least one.
func readSegments(ctx context.Context, tx *transaction, sku string) ([]stock.Segment, error) {
	segments, err := tables.All(ctx, tx, func(row tables.Row) (found stock.Segment, err error) {
		err = row.Scan(columnsOf(&found)...)
		return found, err
	}, selectSegments, sku)
	if err == nil && segments == nil {
		err = stock.UnknownSKU(sku)
	}
	return segments, err
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
