package sqlite

import (
	"context"
	"database/sql"
	"time"

	"inventory/internal/stock"
)

// values are those of a new deduction's row; segment is -1 where several gave.
func values(d stock.Deduction, segment int, at time.Time) []any {
	return []any{
		d.SKU, d.OrderID, orNull(d.BuyerID), d.Quantity, segment, microsOrNull(d.ExpiresAt), string(d.Status), micros(at),
	}
}

// deductionRow is where a row of deductions is scanned into.
type deductionRow struct {
	deduction stock.Deduction
	createdAt int64
	expiresAt sql.NullInt64
}

func (r *deductionRow) columns() []any {
	d := &r.deduction
	return []any{&d.OrderID, &d.BuyerID, &d.Quantity, &d.Asked, &d.Status, &r.createdAt, &r.expiresAt}
}

// read is the deduction in the row. How long it was to be reserved is what is between the row's times.
func (r *deductionRow) read(sku string) stock.Deduction {
	d := r.deduction
	d.SKU = sku
	if r.expiresAt.Valid {
		d.ExpiresAt = timeOf(r.expiresAt.Int64)
		d.ReserveFor = time.Duration(r.expiresAt.Int64-r.createdAt) * time.Microsecond
	}
	return d
}

// $2 is a JSON array of order ids.
const selectByIDs = `
SELECT order_id, coalesce(buyer_id, ''), quantity, coalesce(asked, quantity), status, created_at, expires_at
FROM deductions WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))`

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	list, err := listed(orderIDs)
	if err != nil {
		return nil, err
	}
	rows, err := s.reader.QueryContext(ctx, selectByIDs, sku, list)
	if err != nil {
		return nil, err
	}
	return scanByID(rows, sku)
}

// scanByID reads deductions without their parts, and closes the rows.
func scanByID(rows *sql.Rows, sku string) (map[string]stock.Deduction, error) {
	found := make(map[string]stock.Deduction)
	return found, scanAll(rows, func(rows *sql.Rows) error {
		var row deductionRow
		err := rows.Scan(row.columns()...)
		found[row.deduction.OrderID] = row.read(sku)
		return err
	})
}

// A row for each part of a deduction. What comes from one segment has no row in deduction_parts.
const selectParts = `
SELECT d.order_id, coalesce(d.buyer_id, ''), d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.expires_at,
       coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity)
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)`

// $2 is a JSON array of order ids.
const selectWithParts = selectParts + `
WHERE d.sku_id = $1 AND d.order_id IN (SELECT value FROM json_each($2))
ORDER BY d.order_id, p.segment`

// readParts reads deductions with their parts, by a query in which the rows of each stand together, ascending by segment.
func readParts(ctx context.Context, q querier, query, sku string, args ...any) (found []stock.Deduction, err error) {
	err = eachRow(ctx, q, func(rows *sql.Rows) error {
		var row deductionRow
		var part stock.Part
		if err := rows.Scan(append(row.columns(), &part.Segment, &part.Quantity)...); err != nil {
			return err
		}
		if n := len(found); n == 0 || found[n-1].OrderID != row.deduction.OrderID {
			found = append(found, row.read(sku))
		}
		last := &found[len(found)-1]
		last.Parts = append(last.Parts, part)
		return nil
	}, query, append([]any{sku}, args...)...)
	return found, err
}

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	list, err := listed([]string{orderID})
	if err != nil {
		return stock.Deduction{}, err
	}
	found, err := readParts(ctx, s.reader, selectWithParts, sku, list)
	if err == nil && found == nil {
		err = s.whyNoDeduction(ctx, sku, orderID)
	}
	if err != nil {
		return stock.Deduction{}, err
	}
	return found[0], nil
}

func (s *Store) whyNoDeduction(ctx context.Context, sku, orderID string) error {
	if err := exists(ctx, s.reader, sku); err != nil {
		return err
	}
	return stock.UnknownDeduction(sku, orderID)
}
