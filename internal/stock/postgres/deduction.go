package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

const selectByIDs = `
SELECT order_id, coalesce(buyer_id, ''), quantity, status
FROM deductions WHERE sku_id = $1 AND order_id = ANY ($2::text[])`

func selectDeductions(ctx context.Context, q querier, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	rows, err := q.Query(ctx, selectByIDs, sku, orderIDs)
	if err != nil {
		return nil, err
	}
	found := make(map[string]stock.Deduction)
	d := stock.Deduction{SKU: sku}
	_, err = pgx.ForEachRow(rows, []any{&d.OrderID, &d.BuyerID, &d.Quantity, &d.Status}, func() error {
		found[d.OrderID] = d
		return nil
	})
	return found, err
}

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return selectDeductions(ctx, s.pool, sku, orderIDs)
}

const selectDeduction = `
SELECT coalesce(d.buyer_id, ''), d.quantity, d.status, coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity)
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)
WHERE d.sku_id = $1 AND d.order_id = $2
ORDER BY p.segment`

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	rows, err := s.pool.Query(ctx, selectDeduction, sku, orderID)
	if err != nil {
		return stock.Deduction{}, err
	}
	d := stock.Deduction{SKU: sku, OrderID: orderID}
	var part stock.Part
	_, err = pgx.ForEachRow(rows, []any{&d.BuyerID, &d.Quantity, &d.Status, &part.Segment, &part.Quantity}, func() error {
		d.Parts = append(d.Parts, part)
		return nil
	})
	if err != nil {
		return stock.Deduction{}, err
	}
	if len(d.Parts) == 0 {
		return stock.Deduction{}, s.whyNoDeduction(ctx, sku, orderID)
	}
	return d, nil
}

func (s *Store) whyNoDeduction(ctx context.Context, sku, orderID string) error {
	var exists bool
	err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM skus WHERE sku_id = $1)`, sku).Scan(&exists)
	switch {
	case err != nil:
		return err
	case !exists:
		return stock.UnknownSKU(sku)
	default:
		return stock.UnknownDeduction(sku, orderID)
	}
}
