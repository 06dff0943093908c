package tables

import (
	"context"

	"inventory/internal/stock"
)

// Ended finds the deduction asked.id of line.sku if it may be pruned: nothing has happened to it since $3, and its SKU is
// archived.
const Ended = `
            SELECT 1 FROM (SELECT * FROM deductions WHERE sku_id = line.sku AND order_id = asked.id OFFSET 0) AS d
            WHERE d.status <> 'reserved' AND greatest(d.created_at, coalesce(d.expires_at, d.created_at)) < $3
              AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = line.sku AND k.archived_at IS NOT NULL)
              AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= $3)`

// SelectPrunable reads which of the order ids $2 may be pruned. An order of several SKUs may be pruned if each of its remaining
// lines may be. A repeated commit locks only the deduction: that one is skipped, not waited for.
const SelectPrunable = `
SELECT d.order_id, coalesce(d.buyer_id, ''), CASE WHEN d.status = 'committed' THEN d.quantity ELSE 0 END
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id FOR UPDATE SKIP LOCKED) AS d
WHERE NOT EXISTS (
    SELECT 1 FROM (
        SELECT $1 AS sku
        UNION
        SELECT l.sku_id FROM order_lines l JOIN order_lines own USING (order_id) WHERE own.order_id = asked.id AND own.sku_id = $1
    ) AS line
    WHERE NOT EXISTS (` + Ended + `))`

// ofIDs returns the condition for the rows of a table that belong to the ids $2. Each id is looked up by itself, as in
// [SelectByIDs].
func ofIDs(table, where string) string {
	return `WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($2::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM ` + table + ` WHERE ` + where + ` OFFSET 0) AS r))`
}

const ofDeduction = `sku_id = $1 AND order_id = asked.id`

// What folds the deductions $2 of a SKU into its sum. An order of several SKUs is marked, and each of its lines is deleted with
// its SKU. The outbox and the ledger stay as they are.
var (
	FoldSum = `
INSERT INTO pruned AS p (sku_id, deductions, committed, merges)
SELECT $1, count(*), coalesce(sum(d.quantity) FILTER (WHERE d.status = 'committed'), 0), count(*) FILTER (WHERE d.segment IS NULL)
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS d
WHERE d.order_id <> ''
ON CONFLICT (sku_id) DO UPDATE SET
    deductions = p.deductions + excluded.deductions, committed = p.committed + excluded.committed, merges = p.merges + excluded.merges`

	ForgetBuyers = `DELETE FROM buyers ` + ofIDs("buyers", `sku_id = $1 AND buyer_id = asked.id AND units = 0`)

	MarkOrders = `UPDATE orders SET pruned = true ` + ofIDs("orders",
		`NOT pruned AND order_id IN (SELECT own.order_id FROM order_lines own WHERE own.sku_id = $1 AND own.order_id = asked.id)`)

	DeleteLines      = `DELETE FROM order_lines ` + ofIDs("order_lines", ofDeduction)
	DeleteAmendments = `DELETE FROM amendments ` + ofIDs("amendments", ofDeduction)
	DeleteParts      = `DELETE FROM deduction_parts ` + ofIDs("deduction_parts", ofDeduction)
	DeleteDeductions = `DELETE FROM deductions ` + ofIDs("deductions", ofDeduction)
)

// Prune folds deductions of an archived SKU into its sum, or counts them. The rows of all segments are locked: so no other
// transaction gives units back, or counts buyers, meanwhile.
func Prune(ctx context.Context, tx Tx, p stock.Pruning) (pruned stock.Pruned, err error) {
	var ids []string
	held := make(map[string]int64) // units, per buyer
	err = tx.Each(ctx, func(row Row) error {
		var id, buyer string
		var units int64
		err := row.Scan(&id, &buyer, &units)
		ids, held[buyer], pruned.Units = append(ids, id), held[buyer]+units, pruned.Units+units
		return err
	}, SelectPrunable, p.SKU, p.OrderIDs, p.Before)
	if pruned.Deductions = int64(len(ids)); err != nil || p.DryRun || ids == nil {
		return pruned, err
	}
	fold := &Statements{}
	fold.Exec(FoldSum, p.SKU, ids)
	buyers, units := columnsOf(held)
	fold.Exec(UncountBuyers, p.SKU, buyers, units)
	fold.Exec(ForgetBuyers, p.SKU, buyers)
	for _, statement := range []string{MarkOrders, DeleteLines, DeleteAmendments, DeleteParts, DeleteDeductions} {
		fold.Exec(statement, p.SKU, ids)
	}
	return pruned, tx.Send(ctx, fold)
}
