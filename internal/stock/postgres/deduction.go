package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readAll reads all rows of a query.
func readAll[T any](ctx context.Context, q querier, row pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, row)
}

// deductionRow is where the deductionColumns are scanned.
type deductionRow struct {
	deduction stock.Deduction
	createdAt time.Time
	expiresAt *time.Time
	reserveUS *int64 // nil: from createdAt to expiresAt
}

var deductionColumns = `
d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.expires_at,
d.reserve_micros, coalesce(d.committed, 0)` +
	stock.EachText(func(_ int, column string) string { return ", coalesce(d." + column + ", '')" })

func (r *deductionRow) columns() []any {
	d := &r.deduction
	columns := []any{&d.SKU, &d.OrderID, &d.Quantity, &d.Order.Quantity, &d.Status, &r.createdAt, &r.expiresAt, &r.reserveUS, &d.Committed}
	for _, text := range stock.KeptTexts() {
		columns = append(columns, text.Of(&d.Order))
	}
	return columns
}

// read returns what was scanned last.
func (r *deductionRow) read() stock.Deduction {
	d := r.deduction
	if r.expiresAt != nil {
		d.ExpiresAt, d.ReserveFor = r.expiresAt.UTC(), r.expiresAt.Sub(r.createdAt)
	}
	if r.reserveUS != nil {
		d.ReserveFor = time.Duration(*r.reserveUS) * time.Microsecond
	}
	return d
}

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
SELECT` + deductionColumns + `
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS d`

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return selectDeductions(ctx, s.pool, sku, orderIDs)
}

func selectDeductions(ctx context.Context, q querier, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	rows, err := q.Query(ctx, selectByIDs, sku, orderIDs)
	if err != nil {
		return nil, err
	}
	found := make(map[string]stock.Deduction)
	return found, collectByID(rows, found)
}

// readDeductions reads deductions in the order of a query.
func readDeductions(ctx context.Context, q querier, query string, args ...any) (found []stock.Deduction, err error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	err = collect(rows, func(d stock.Deduction) { found = append(found, d) })
	return found, err
}

// queueKnown reads the deductions that order ids have.
func queueKnown(read *pgx.Batch, sku string, orderIDs []string) map[string]stock.Deduction {
	known := make(map[string]stock.Deduction)
	read.Queue(selectByIDs, sku, orderIDs).Query(func(rows pgx.Rows) error { return collectByID(rows, known) })
	return known
}

// collect reads rows of deductionColumns.
func collect(rows pgx.Rows, found func(stock.Deduction)) error {
	var r deductionRow
	_, err := pgx.ForEachRow(rows, r.columns(), func() error {
		found(r.read())
		return nil
	})
	return err
}

func collectByID(rows pgx.Rows, found map[string]stock.Deduction) error {
	return collect(rows, func(d stock.Deduction) { found[d.OrderID] = d })
}

var selectDeduction = `
SELECT` + deductionColumns + `, coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity)
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)
WHERE d.sku_id = $1 AND d.order_id = $2
ORDER BY p.segment`

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	rows, err := s.pool.Query(ctx, selectDeduction, sku, orderID)
	if err != nil {
		return stock.Deduction{}, err
	}
	var r deductionRow
	var given []stock.Part
	var part stock.Part
	_, err = pgx.ForEachRow(rows, append(r.columns(), &part.Segment, &part.Quantity), func() error {
		given = append(given, part)
		return nil
	})
	if err != nil {
		return stock.Deduction{}, err
	}
	if len(given) == 0 {
		if err := skuExists(ctx, s.pool, sku); err != nil {
			return stock.Deduction{}, err
		}
		return stock.Deduction{}, stock.UnknownDeduction(sku, orderID)
	}
	d := r.read()
	d.Parts = given
	return d, nil
}
