package sqlite

import (
	"context"
	"database/sql"
	"time"

	"inventory/internal/stock"
)

// A row for each segment. Reserved is what has not expired at $2.
const selectStatus = `
SELECT k.name, k.layout, g.available,
       k.initial + coalesce((SELECT sum(quantity) FROM movements WHERE sku_id = $1), 0),
       coalesce((SELECT sum(quantity) FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at > $2), 0),
       ` + termsColumns + `
FROM skus k JOIN stock_segments g USING (sku_id)
WHERE k.sku_id = $1 ORDER BY g.segment`

// Status implements [stock.Store]. What has expired counts as if its units were back.
func (s *Store) Status(ctx context.Context, sku string, at time.Time) (status stock.Status, err error) {
	err = s.snapshot(ctx, func(tx *transaction) error {
		if status, err = readStatus(ctx, tx, sku, at); err != nil {
			return err
		}
		expired, err := readExpired(ctx, tx, sku, at)
		if err != nil {
			return err
		}
		for segment, units := range stock.PlanExpiry(expired, len(status.Segments)).Segments {
			status.Segments[segment] += units
		}
		return nil
	})
	if err != nil {
		return stock.Status{}, err
	}
	for _, available := range status.Segments {
		status.Available += available
	}
	status.Committed = status.Stock - status.Available - status.Reserved
	return status, nil
}

// readStatus reads what the rows of a SKU and its segments say.
func readStatus(ctx context.Context, q querier, sku string, at time.Time) (stock.Status, error) {
	status := stock.Status{SKU: sku}
	var terms termsRow
	err := eachRow(ctx, q, func(rows *sql.Rows) error {
		var available int64
		err := rows.Scan(append(
			[]any{&status.Name, &status.Layout, &available, &status.Stock, &status.Reserved}, terms.columns()...)...)
		status.Segments = append(status.Segments, available)
		return err
	}, selectStatus, sku, micros(at))
	if err == nil && status.Segments == nil {
		err = stock.UnknownSKU(sku)
	}
	status.Terms = terms.read()
	return status, err
}
