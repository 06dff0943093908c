package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
)

const selectAccepted = `SELECT order_id FROM deductions WHERE sku_id = $1 LIMIT $2`

// SoldOut implements [stock.Store].
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (empty stock.SoldOutState, err error) {
	err = s.snapshot(ctx, func(tx *transaction) error {
		segments, err := readSegments(ctx, tx, sku)
		if err != nil {
			return err
		}
		empty = emptinessOf(segments)
		if empty.NextExpiry, err = nextExpiry(ctx, tx, sku); err != nil || !empty.SoldOut || limit == 0 {
			return err
		}
		return eachRow(ctx, tx, func(rows *sql.Rows) error {
			var id sql.RawBytes
			err := rows.Scan(&id)
			accepted(id)
			return err
		}, selectAccepted, sku, limit)
	})
	if err != nil {
		return stock.SoldOutState{}, err
	}
	return empty, nil
}

func emptinessOf(segments []segmentRow) stock.SoldOutState {
	empty := stock.SoldOutState{SoldOut: true, Versions: make([]int64, len(segments))}
	for segment, row := range segments {
		empty.Versions[segment] = row.version
		empty.SoldOut = empty.SoldOut && row.available == 0
	}
	return empty
}

// Watch implements [stock.Store]. The file belongs to this process, which knows by itself what comes back.
func (s *Store) Watch(context.Context, func(), func(string)) error { return nil }
