package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// deductionRow is where the deductionColumns are scanned.
type deductionRow struct {
	deduction stock.Deduction
	createdAt time.Time
	expiresAt *time.Time
}

const deductionColumns = `
d.sku_id, d.order_id, coalesce(d.buyer_id, ''), d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.expires_at`

func (r *deductionRow) columns() []any {
	d := &r.deduction
	return []any{&d.SKU, &d.OrderID, &d.BuyerID, &d.Quantity, &d.Asked, &d.Status, &r.createdAt, &r.expiresAt}
}

// read returns what was scanned last.
func (r *deductionRow) read() stock.Deduction {
	d := r.deduction
	if r.expiresAt != nil {
		d.ExpiresAt, d.ReserveFor = r.expiresAt.UTC(), r.expiresAt.Sub(r.createdAt)
	}
	return d
}

// Each order id is looked up by itself, in the index. For a list of them the planner may read all orders of the SKU: of one
// that has just begun to sell, its statistics know nothing.
const selectByIDs = `
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
	return found, collect(rows, found)
}

// queueKnown reads the deductions that order ids have.
func queueKnown(trip *pgx.Batch, sku string, orderIDs []string) map[string]stock.Deduction {
	known := make(map[string]stock.Deduction)
	trip.Queue(selectByIDs, sku, orderIDs).Query(func(rows pgx.Rows) error { return collect(rows, known) })
	return known
}

// collect reads rows of deductionColumns.
func collect(rows pgx.Rows, found map[string]stock.Deduction) error {
	var r deductionRow
	_, err := pgx.ForEachRow(rows, r.columns(), func() error {
		found[r.deduction.OrderID] = r.read()
		return nil
	})
	return err
}

const selectDeduction = `
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
