package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"inventory/internal/stock"
)

// insertDeduction is the one list of the columns of a new deduction, and values are what it inserts: the segment is null
// where several gave, and what says when a reservation expires is null for others. The texts come last.
var insertDeduction = `
INSERT INTO deductions (sku_id, order_id, quantity, segment, expires_at, status, created_at` +
	stock.EachText(func(_ int, column string) string { return ", " + column }) + `)
VALUES ($1, $2, $3, $4, $5, $6, $7` + stock.EachText(func(n int, _ string) string { return fmt.Sprintf(", $%d", 8+n) }) + `)
ON CONFLICT (sku_id, order_id) DO NOTHING`

func values(d *stock.Deduction, segment *int, at time.Time) []any {
	values := []any{d.SKU, d.OrderID, d.Quantity, segment, microsOrNull(d.ExpiresAt), string(d.Status), micros(at)}
	for _, text := range stock.KeptTexts() {
		values = append(values, orNull(*text.Of(&d.Order)))
	}
	return values
}

// deductionRow is where the columns of a deduction are scanned into.
type deductionRow struct {
	deduction stock.Deduction
	createdAt int64
	expiresAt sql.NullInt64
	reserveUS sql.NullInt64 // null: from createdAt to expiresAt
}

// deductionColumns are those of a table, or its alias.
func deductionColumns(t string) string {
	columns := `t.sku_id, t.order_id, t.quantity, coalesce(t.asked, t.quantity), t.status, t.created_at, t.expires_at,
	t.reserve_micros, coalesce(t.committed, 0)` +
		stock.EachText(func(_ int, column string) string { return ", coalesce(t." + column + ", '')" })
	return strings.ReplaceAll(columns, "t.", t+".")
}

func (r *deductionRow) columns() []any {
	d := &r.deduction
	columns := []any{&d.SKU, &d.OrderID, &d.Quantity, &d.Order.Quantity, &d.Status, &r.createdAt, &r.expiresAt, &r.reserveUS, &d.Committed}
	for _, text := range stock.KeptTexts() {
		columns = append(columns, text.Of(&d.Order))
	}
	return columns
}

// read is the deduction in the row.
func (r *deductionRow) read() stock.Deduction {
	d := r.deduction
	if r.expiresAt.Valid {
		d.ExpiresAt = timeOf(r.expiresAt.Int64)
		d.ReserveFor = time.Duration(r.expiresAt.Int64-r.createdAt) * time.Microsecond
	}
	if r.reserveUS.Valid {
		d.ReserveFor = time.Duration(r.reserveUS.Int64) * time.Microsecond
	}
	return d
}

// $2 is a JSON array of order ids.
var selectByIDs = `
SELECT ` + deductionColumns("d") + `
FROM deductions d WHERE d.sku_id = $1 AND d.order_id IN (SELECT value FROM json_each($2))`

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return readByIDs(ctx, s.reader, sku, orderIDs)
}

// readByIDs returns the deductions that order ids have, without their parts.
func readByIDs(ctx context.Context, q querier, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	found, err := readDeductions(ctx, q, selectByIDs, sku, list(orderIDs))
	return byOrderID(found), err
}

// readDeductions reads deductions without their parts.
func readDeductions(ctx context.Context, q querier, query string, args ...any) (found []stock.Deduction, err error) {
	err = eachRow(ctx, q, func(rows *sql.Rows) error {
		var row deductionRow
		err := rows.Scan(row.columns()...)
		found = append(found, row.read())
		return err
	}, query, args...)
	return found, err
}

func byOrderID(found []stock.Deduction) map[string]stock.Deduction {
	by := make(map[string]stock.Deduction, len(found))
	for _, d := range found {
		by[d.OrderID] = d
	}
	return by
}

// A row for each part of a deduction. What comes from one segment has no row in deduction_parts.
var selectParts = `
SELECT ` + deductionColumns("d") + `, coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity), d.segment IS NULL
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)`

// $2 is a JSON array of order ids.
var selectWithParts = selectParts + `
WHERE d.sku_id = $1 AND d.order_id IN (SELECT value FROM json_each($2))
ORDER BY d.order_id, p.segment`

// readParts reads deductions with their parts, by a query in which the rows of each stand together, ascending by segment.
func readParts(ctx context.Context, q querier, query string, args ...any) (found []stock.Deduction, err error) {
	err = eachRow(ctx, q, func(rows *sql.Rows) error {
		var row deductionRow
		var part stock.Part
		var merged bool
		if err := rows.Scan(append(row.columns(), &part.Segment, &part.Quantity, &merged)...); err != nil {
			return err
		}
		if n := len(found); n == 0 || found[n-1].OrderID != row.deduction.OrderID {
			found = append(found, row.read())
		}
		last := &found[len(found)-1]
		last.Parts, last.Merged = append(last.Parts, part), merged
		return nil
	}, query, args...)
	return found, err
}

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	found, err := readParts(ctx, s.reader, selectWithParts, sku, list{orderID})
	if err == nil && found == nil {
		if err = exists(ctx, s.reader, sku); err == nil {
			err = stock.UnknownDeduction(sku, orderID)
		}
	}
	if err != nil {
		return stock.Deduction{}, err
	}
	d := found[0]
	d.Merged = false // which is for writes
	return d, nil
}
