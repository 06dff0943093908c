package tables

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// DeductionColumns are the columns of a deduction d, without its parts.
var DeductionColumns = `
d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.expires_at,
d.reserve_micros, coalesce(d.committed, 0)` +
	stock.EachText(func(_ int, column string) string { return ", coalesce(d." + column + ", '')" })

// Deduction is where the [DeductionColumns] are scanned.
type Deduction struct {
	deduction stock.Deduction
	createdAt time.Time
	reserve   time.Duration // 0: from createdAt to the expiry
}

// Columns returns where to scan the columns.
func (r *Deduction) Columns() []any {
	d := &r.deduction
	columns := []any{
		&d.SKU, &d.OrderID, &d.Quantity, &d.Order.Quantity, &d.Status, (*Time)(&r.createdAt), (*Time)(&d.ExpiresAt),
		(*Micros)(&r.reserve), &d.Committed,
	}
	for _, text := range stock.KeptTexts() {
		columns = append(columns, text.Of(&d.Order))
	}
	return columns
}

// Read returns what was scanned last.
func (r *Deduction) Read() stock.Deduction {
	d := r.deduction
	if d.ReserveFor = r.reserve; r.reserve == 0 && !d.ExpiresAt.IsZero() {
		d.ReserveFor = d.ExpiresAt.Sub(r.createdAt)
	}
	return d
}

// EachDeduction reads rows of [DeductionColumns].
func EachDeduction(found func(stock.Deduction)) func(Row) error {
	var r Deduction
	columns := r.Columns()
	return func(row Row) error {
		if err := row.Scan(columns...); err != nil {
			return err
		}
		found(r.Read())
		return nil
	}
}

// SelectByIDs reads deductions, for [DeductionsByID]. Each order id is looked up by itself, in the index. For a list of ids the
// planner may read all orders of the SKU: it has no statistics of a SKU that has just started to sell.
var SelectByIDs = `
SELECT` + DeductionColumns + `
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS d`

// DeductionsByID reads rows of [DeductionColumns] into a map by their order ids.
func DeductionsByID(into map[string]stock.Deduction) func(Row) error {
	return EachDeduction(func(d stock.Deduction) { into[d.OrderID] = d })
}

// ByIDs reads the deductions that order ids have, without their parts.
func ByIDs(ctx context.Context, q Querier, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	found := make(map[string]stock.Deduction)
	return found, q.Each(ctx, DeductionsByID(found), SelectByIDs, sku, orderIDs)
}

// Deductions implements [stock.Store].
func (b Base) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return ByIDs(ctx, b.DB, sku, orderIDs)
}

// inOrder reads deductions in the order of a query.
func inOrder(ctx context.Context, q Querier, query string, args ...any) (found []stock.Deduction, err error) {
	err = q.Each(ctx, EachDeduction(func(d stock.Deduction) { found = append(found, d) }), query, args...)
	return found, err
}

// PartColumns are the columns of a deduction d and of a part p of it. A deduction from one segment has no row in
// deduction_parts.
var PartColumns = DeductionColumns + `, coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity), d.segment IS NULL`

// WithParts reads deductions by a query of [PartColumns], which returns the rows of each deduction together, ascending by
// segment.
func WithParts(ctx context.Context, q Querier, query string, args ...any) (found []stock.Deduction, err error) {
	var r Deduction
	var part stock.Part
	var merged bool
	columns := append(r.Columns(), &part.Segment, &part.Quantity, &merged)
	err = q.Each(ctx, func(row Row) error {
		if err := row.Scan(columns...); err != nil {
			return err
		}
		if n := len(found); n == 0 || found[n-1].OrderID != r.deduction.OrderID {
			found = append(found, r.Read())
		}
		last := &found[len(found)-1]
		last.Parts, last.Merged = append(last.Parts, part), merged
		return nil
	}, query, args...)
	return found, err
}

// SelectDeduction is for [Base.Deduction].
var SelectDeduction = `
SELECT` + PartColumns + `
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)
WHERE d.sku_id = $1 AND d.order_id = $2
ORDER BY p.segment`

// Deduction implements [stock.Store].
func (b Base) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	found, err := WithParts(ctx, b.DB, SelectDeduction, sku, orderID)
	if err == nil && found == nil {
		if err = SKUExists(ctx, b.DB, sku); err == nil {
			err = stock.UnknownDeduction(sku, orderID)
		}
	}
	if err != nil {
		return stock.Deduction{}, err
	}
	found[0].Merged = false // only writes need it
	return found[0], nil
}

// SelectScanEnd finds the last of the rows that a page may read. There is none if fewer are left. The offset is a sub-select so
// that PostgreSQL's planner does not know it: if the planner takes a SKU for small, it would read and sort all its rows, to be
// sure of that many.
const SelectScanEnd = `
SELECT order_id FROM deductions d WHERE sku_id = $1 AND order_id > $2 ORDER BY order_id
LIMIT 1 OFFSET (SELECT CAST($3 AS bigint))`

// SelectPage reads a page. Whatever plan the buyer and the status get, the keys bound what it reads.
var SelectPage = `
SELECT` + DeductionColumns + `
FROM deductions d
WHERE d.sku_id = $1 AND d.order_id > $2 AND d.order_id <= $3 AND ($4 = '' OR d.buyer_id = $4) AND ($5 = '' OR d.status = $5)
ORDER BY d.order_id LIMIT $6`

// DeductionPage implements [stock.Store]. It reads the end of the page first: what is inserted between the two statements makes
// the page longer, and the next page begins after it.
func (b Base) DeductionPage(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error) {
	var last string
	bounded, err := One(ctx, b.DB, []any{&last}, SelectScanEnd, query.SKU, query.After, query.Bound()-1)
	if err != nil {
		return stock.DeductionPage{}, err
	}
	until := last
	if !bounded {
		until = stock.BeyondKeys()
	}
	found, err := inOrder(ctx, b.DB, SelectPage, query.SKU, query.After, until, query.BuyerID, string(query.Status), query.Limit)
	if err == nil && found == nil && !bounded {
		err = SKUExists(ctx, b.DB, query.SKU)
	}
	return query.Page(found, last), err
}
