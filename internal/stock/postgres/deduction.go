package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// insert is the one list of the columns of a new deduction. The statements around it provide what it inserts: o is the
// order id, q the quantity, r for how many microseconds it is reserved, s the segment (null if several gave), and at the
// instant of the decision. The texts have the names of their columns. The SKU is $1, or what withInsertOf says.
var insert = `INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at` +
	stock.EachText(func(_ int, column string) string { return ", " + column }) + `)
    SELECT {sku}, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at` +
	stock.EachText(func(_ int, column string) string { return ", nullif(" + column + ", '')" })

// withInsert completes a statement that inserts deductions: its last arguments, from the number first on, are texts.
func withInsert(statement string, first int) string { return withInsertOf("$1", statement, first) }

func withInsertOf(sku, statement string, first int) string {
	texts := stock.EachText(func(n int, _ string) string { return fmt.Sprintf(", $%d::text[]", first+n) })
	names := stock.EachText(func(_ int, column string) string { return ", " + column })
	return strings.NewReplacer("{insert}", strings.Replace(insert, "{sku}", sku, 1), ", {texts}", texts, ", {names}", names).Replace(statement)
}

// withoutKnown is a statement for orders of which none is expected to be known: one that is makes it fail with uniqueViolation.
// Looking for a conflict before each insert costs a quarter of what a row costs.
func withoutKnown(statement string) string {
	return strings.Replace(statement, "    ON CONFLICT (sku_id, order_id) DO NOTHING\n", "", 1)
}

var insertMerged = withInsert(`
{insert}
FROM (SELECT $6::timestamptz AS at) AS decided,
     unnest($2::text[], $3::integer[], $4::bigint[], $5::integer[], {texts}) AS asked (o, q, r, s, {names})
ORDER BY o COLLATE "C"`, 7)

const onKnown = `
ON CONFLICT (sku_id, order_id) DO NOTHING`

var insertDeductions = insertMerged + onKnown

// arrays are what unnest turns into rows.
type arrays struct {
	orderIDs   []string
	quantities []int32
	reserves   []int64 // microseconds; nil: all are committed at once
	segments   []*int  // nil: several gave
	texts      []any   // a []string for each text
	units      int64
}

func arraysOf(orders []stock.Order) arrays {
	a := arrays{orderIDs: stock.IDsOf(orders), quantities: make([]int32, len(orders))}
	for n, o := range orders {
		a.quantities[n] = int32(o.Quantity) //nolint:gosec // at most stock.MaxQuantity
		a.units += o.Quantity
		if o.ReserveFor > 0 {
			if a.reserves == nil {
				a.reserves = make([]int64, len(orders))
			}
			a.reserves[n] = o.ReserveFor.Microseconds()
		}
	}
	for _, text := range stock.KeptTexts() {
		column := make([]string, len(orders))
		for n := range orders {
			column[n] = *text.Of(&orders[n])
		}
		a.texts = append(a.texts, column)
	}
	return a
}

// add appends others.
func (a *arrays) add(b arrays) {
	if a.reserves == nil && b.reserves != nil {
		a.reserves = make([]int64, len(a.orderIDs))
	}
	switch {
	case b.reserves != nil:
		a.reserves = append(a.reserves, b.reserves...)
	case a.reserves != nil:
		a.reserves = append(a.reserves, make([]int64, len(b.orderIDs))...)
	}
	a.orderIDs, a.quantities = append(a.orderIDs, b.orderIDs...), append(a.quantities, b.quantities...)
	a.units += b.units
	for n, text := range b.texts {
		if n == len(a.texts) {
			a.texts = append(a.texts, []string(nil))
		}
		a.texts[n] = append(a.texts[n].([]string), text.([]string)...)
	}
}

// queue inserts them by insertMerged or insertDeductions.
func (a arrays) queue(write *pgx.Batch, statement, sku string, at time.Time) *pgx.QueuedQuery {
	args := []any{sku, a.orderIDs, a.quantities, a.reserves, a.segments, at}
	return write.Queue(statement, append(args, a.texts...)...)
}

// Each order id is looked up by itself, in the index. For a list of them the planner may read all orders of the SKU: it has
// no statistics of a SKU that has just begun to sell.
var selectByIDs = `
SELECT` + tables.DeductionColumns + `
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS d`

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return selectDeductions(ctx, s.pool, sku, orderIDs)
}

func selectDeductions(ctx context.Context, q tables.Querier, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	found := make(map[string]stock.Deduction)
	return found, q.Each(ctx, tables.DeductionsByID(found), selectByIDs, sku, orderIDs)
}

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	return tables.OneDeduction(ctx, s.pool, sku, orderID)
}

// DeductionPage implements [stock.Store].
func (s *Store) DeductionPage(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error) {
	return tables.Page(ctx, s.pool, query)
}
