package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Which of the order ids $2, a JSON array, may go; all has to have happened before $3. An order of several SKUs goes when each of
// its lines that are left may go.
const selectPrunable = `
SELECT json_group_array(d.order_id), count(*), coalesce(sum(d.quantity) FILTER (WHERE d.status = 'committed'), 0)
FROM deductions d
WHERE d.sku_id = $1 AND d.order_id IN (SELECT value FROM json_each($2)) AND NOT EXISTS (
    SELECT 1 FROM (
        SELECT $1 AS sku
        UNION
        SELECT l.sku_id FROM order_lines own JOIN order_lines l USING (order_id) WHERE own.order_id = d.order_id AND own.sku_id = $1
    ) line
    WHERE NOT EXISTS (
        SELECT 1 FROM deductions o
        WHERE o.sku_id = line.sku AND o.order_id = d.order_id
          AND o.status <> 'reserved' AND max(o.created_at, coalesce(o.expires_at, o.created_at)) < $3
          AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = line.sku AND k.archived_at IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = line.sku AND a.order_id = d.order_id AND a.created_at >= $3)))`

// What folds deductions of SKU $1 into its sum, in this order; $2 is a JSON array of their order ids. The order of several SKUs
// is marked, and its lines go each with its SKU. The outbox and the ledger stay as they are.
const (
	foldSum = `
INSERT INTO pruned (sku_id, deductions, committed, merges)
SELECT $1, count(*), coalesce(sum(quantity) FILTER (WHERE status = 'committed'), 0), count(*) FILTER (WHERE segment IS NULL)
FROM deductions WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))
ON CONFLICT (sku_id) DO UPDATE SET
    deductions = deductions + excluded.deductions, committed = committed + excluded.committed, merges = merges + excluded.merges`

	uncountBuyers = `
UPDATE buyers SET units = units - held
FROM (
    SELECT buyer_id AS buyer, sum(quantity) AS held FROM deductions
    WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2)) AND status = 'committed' GROUP BY buyer_id
)
WHERE sku_id = $1 AND buyer_id = buyer`

	forgetBuyers = `
DELETE FROM buyers
WHERE sku_id = $1 AND units = 0
  AND buyer_id IN (SELECT buyer_id FROM deductions WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2)))`

	markOrders = `
UPDATE orders SET pruned = 1
WHERE order_id IN (SELECT order_id FROM order_lines WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2)))`

	pruneLines      = `DELETE FROM order_lines WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))`
	pruneAmendments = `DELETE FROM amendments WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))`
	pruneParts      = `DELETE FROM deduction_parts WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))`
	pruneDeductions = `DELETE FROM deductions WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2))`
)

// Prune implements [stock.Store].
func (s *Store) Prune(ctx context.Context, p stock.Pruning) (pruned stock.Pruned, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		var going string
		columns := []any{&going, &pruned.Deductions, &pruned.Units}
		err := tables.Single(ctx, tx, columns, selectPrunable, p.SKU, p.OrderIDs, micros(p.Before))
		if err != nil || p.DryRun || pruned.Deductions == 0 {
			return err
		}
		for _, fold := range []string{
			foldSum, uncountBuyers, forgetBuyers, markOrders, pruneLines, pruneAmendments, pruneParts, pruneDeductions,
		} {
			if _, err := tx.ExecContext(ctx, fold, p.SKU, going); err != nil {
				return err
			}
		}
		return nil
	})
	if busy(err) {
		return stock.Pruned{Busy: true}, nil
	}
	return pruned, err
}
