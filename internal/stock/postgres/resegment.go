package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// Kept rows keep their fences. Versions stay above all that were read before, also of rows that are gone.
const layOut = `
INSERT INTO stock_segments AS g (sku_id, segment, available, reserved, fence, version, layout)
SELECT $1, n - 1, units, CASE WHEN n = 1 THEN $6::bigint ELSE 0 END, $3, $4, $5 FROM unnest($2::bigint[]) WITH ORDINALITY AS spread (units, n)
ORDER BY n
ON CONFLICT (sku_id, segment) DO UPDATE
    SET available = excluded.available, reserved = excluded.reserved, version = excluded.version, layout = excluded.layout`

const deleteBeyond = `DELETE FROM stock_segments WHERE sku_id = $1 AND segment >= $2`

const setLayout = `UPDATE skus SET layout = $2 WHERE sku_id = $1`

// Resegment implements [stock.Store].
//
// Every row gets the new layout, so whoever has waited for one of them finds out, also where its snapshot does not show
// rows that are new. A new row begins with the highest fence of all: a lock of its name may have been held before.
func (s *Store) Resegment(ctx context.Context, resegment stock.Movement) (created bool, err error) {
	return s.move(ctx, resegment, func(write *pgx.Batch, all []segmentRow, levels []int64) error {
		var fence, version, units, reserved int64
		for i, row := range all {
			fence, version = max(fence, row.fence.Token), max(version, row.version)
			units, reserved = units+levels[i], reserved+row.reserved-(levels[i]-row.available) // what has come back had been reserved
		}
		layout := all[0].layout + 1
		write.Queue(deleteBeyond, resegment.SKU, resegment.Segments)
		write.Queue(layOut, resegment.SKU, stock.Spread(units, resegment.Segments), fence, version+1, layout, reserved)
		write.Queue(setLayout, resegment.SKU, layout)
		return nil
	})
}
