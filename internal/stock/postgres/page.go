package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// The last of the rows that a page may read. There is none where fewer are left. The offset is a sub-select so that the
// planner does not know it: of a SKU that it takes for small it would read and sort all rows, to be sure of so many.
const selectScanEnd = `
SELECT order_id FROM deductions WHERE sku_id = $1 AND order_id > $2 ORDER BY order_id
OFFSET (SELECT $3::bigint) LIMIT 1`

// Whatever the planner makes of the buyer and the status, the keys bound what it reads.
var selectPage = `
SELECT` + deductionColumns + `
FROM deductions d
WHERE d.sku_id = $1 AND d.order_id > $2 AND d.order_id <= $3 AND ($4 = '' OR d.buyer_id = $4) AND ($5 = '' OR d.status = $5)
ORDER BY d.order_id LIMIT $6`

// DeductionPage implements [stock.Store]. The end is looked for first: what is inserted between the two statements makes
// the page longer, and the next one begins behind it.
func (s *Store) DeductionPage(ctx context.Context, q stock.DeductionQuery) (page stock.DeductionPage, err error) {
	last, until := "", stock.BeyondKeys()
	switch err := s.pool.QueryRow(ctx, selectScanEnd, q.SKU, q.After, q.Bound()-1).Scan(&last); {
	case err == nil:
		until = last
	case !errors.Is(err, pgx.ErrNoRows):
		return page, err
	}
	found, err := readDeductions(ctx, s.pool, selectPage, q.SKU, q.After, until, q.BuyerID, string(q.Status), q.Limit)
	if err == nil && found == nil && last == "" {
		err = skuExists(ctx, s.pool, q.SKU)
	}
	return q.Page(found, last), err
}
