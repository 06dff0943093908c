package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
)

// The last of the rows that a page may read. There is none where fewer are left.
const selectScanEnd = `
SELECT order_id FROM deductions d WHERE sku_id = $1 AND order_id > $2 ORDER BY order_id LIMIT 1 OFFSET $3`

var selectPage = `
SELECT ` + deductionColumns("d") + `
FROM deductions d
WHERE d.sku_id = $1 AND d.order_id > $2 AND d.order_id <= $3 AND ($4 = '' OR d.buyer_id = $4) AND ($5 = '' OR d.status = $5)
ORDER BY d.order_id LIMIT $6`

// DeductionPage implements [stock.Store].
func (s *Store) DeductionPage(ctx context.Context, q stock.DeductionQuery) (page stock.DeductionPage, err error) {
	last, until := "", stock.BeyondKeys()
	err = s.each(ctx, func(rows *sql.Rows) error {
		err := rows.Scan(&last)
		until = last
		return err
	}, selectScanEnd, q.SKU, q.After, q.Bound()-1)
	if err != nil {
		return page, err
	}
	found, err := readDeductions(ctx, s.reader, selectPage, q.SKU, q.After, until, q.BuyerID, string(q.Status), q.Limit)
	if err == nil && found == nil && last == "" {
		err = exists(ctx, s.reader, q.SKU)
	}
	return q.Page(found, last), err
}
