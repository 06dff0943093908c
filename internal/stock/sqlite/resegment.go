package sqlite

import (
	"context"

	"inventory/internal/stock"
)

// A segment that is there keeps its fence: it is that of its lock. A new one has never been locked as far as its row can
// tell, so it starts with the newest fence of the others, above those that it had if it was there before.
const putSegment = `
INSERT INTO stock_segments (sku_id, segment, available, reserved, version, layout, fence) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (sku_id, segment) DO UPDATE
SET available = excluded.available, reserved = excluded.reserved, version = excluded.version, layout = excluded.layout`

const deleteSegments = `DELETE FROM stock_segments WHERE sku_id = $1 AND segment >= $2`

const updateLayout = `UPDATE skus SET layout = $2 WHERE sku_id = $1`

// Resegment implements [stock.Store].
func (s *Store) Resegment(ctx context.Context, resegment stock.Movement) (created bool, err error) {
	resegment.Kind = stock.Resegmented
	return s.move(ctx, resegment, func(tx *transaction, segments []segmentRow, levels []int64) error {
		var units, reserved int64
		var newest segmentRow
		for segment, row := range segments {
			units += levels[segment]
			reserved += row.reserved - (levels[segment] - row.available) // what has come back had been reserved
			newest.version = max(newest.version, row.version)
			newest.fence.Token = max(newest.fence.Token, row.fence.Token)
		}
		layout := segments[0].layout + 1
		for segment, available := range stock.Spread(units, resegment.Segments) {
			_, err := tx.ExecContext(ctx, putSegment,
				resegment.SKU, segment, available, reserved, newest.version+1, layout, newest.fence.Token)
			if err != nil {
				return err
			}
			reserved = 0 // the first one counts for all
		}
		if _, err := tx.ExecContext(ctx, deleteSegments, resegment.SKU, resegment.Segments); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, updateLayout, resegment.SKU, layout)
		return err
	})
}
