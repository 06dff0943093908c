package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
)

const insertMerged = `
INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
VALUES ($1, $2, $3, $4, nullif($5, -1), 'committed', $6)`

const insertPart = `INSERT INTO deduction_parts (sku_id, order_id, segment, quantity) VALUES ($1, $2, $3, $4)`

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Merge) (stock.MergeResult, error) {
	first, repeats := stock.Unique(merge.Orders)
	result := stock.MergeResult{Outcomes: make([]stock.Outcome, len(merge.Orders))}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		segments, err := readSegments(ctx, tx, merge.SKU, merge.Fences)
		if err != nil {
			return err
		}
		known, err := selectDeductions(ctx, tx, merge.SKU, idsOf(merge.Orders, first))
		if err != nil {
			return err
		}
		plan := stock.PlanMerge(segments, merge.Orders, first, known, result.Outcomes)
		result.Segments, result.Merged = plan.Segments, plan.Merged
		for _, i := range plan.Admitted {
			if err := insertFrom(ctx, tx, merge, merge.Orders[i], plan.Parts[i]); err != nil {
				return err
			}
			result.Outcomes[i] = stock.AcceptedOutcome(merge.SKU, merge.Orders[i])
		}
		return applyChanges(ctx, tx, merge, plan.Changes)
	})
	if err != nil {
		return stock.MergeResult{}, err
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

func insertFrom(ctx context.Context, tx *sql.Tx, merge stock.Merge, o stock.Order, parts []stock.Part) error {
	segment := -1
	if len(parts) == 1 {
		segment = parts[0].Segment
	}
	if _, err := tx.ExecContext(ctx, insertMerged, merge.SKU, o.OrderID, orNull(o.BuyerID), o.Quantity, segment, micros(merge.At)); err != nil {
		return err
	}
	if segment >= 0 {
		return nil
	}
	for _, p := range parts {
		if _, err := tx.ExecContext(ctx, insertPart, merge.SKU, o.OrderID, p.Segment, p.Quantity); err != nil {
			return err
		}
	}
	return nil
}

func applyChanges(ctx context.Context, tx *sql.Tx, merge stock.Merge, changes []int64) error {
	for segment, change := range changes {
		if change == 0 {
			continue
		}
		fence := merge.Fences[segment]
		if _, err := tx.ExecContext(ctx, changeSegment, merge.SKU, segment, change, fence.Token, fence.Owner); err != nil {
			return err
		}
	}
	return nil
}
