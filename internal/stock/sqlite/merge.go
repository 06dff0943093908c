package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Merge) (stock.MergeResult, error) {
	first, repeats := stock.Unique(merge.Orders)
	result := stock.MergeResult{Outcomes: make([]stock.Outcome, len(merge.Orders))}
	err := s.inTx(ctx, merge.Deadline, func(tx *transaction) error {
		merge.At = now(merge.At)
		result.At = merge.At
		segments, err := readSegments(ctx, tx, merge.SKU)
		if err != nil {
			return err
		}
		if err := mayWrite(segments, merge.Layout, merge.Fences); err != nil {
			return err
		}
		levels := levelsOf(segments)
		if result.Expired, err = s.expire(ctx, tx, merge.SKU, merge.At, levels); err != nil {
			return err
		}
		result.Stale = result.Expired == expiredAtOnce
		if err := s.mergeFrom(ctx, tx, merge, levels, first, &result); err != nil {
			return err
		}
		result.NextExpiry, err = nextExpiry(ctx, tx, merge.SKU)
		return err
	})
	if err != nil {
		return stock.MergeResult{}, err
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

// mergeFrom fills the orders from what the segments hold, and writes that.
func (s *Store) mergeFrom(ctx context.Context, tx *transaction, merge stock.Merge, levels []int64, first []int, result *stock.MergeResult) error {
	demand, err := s.demand(ctx, tx, merge.SKU, merge.Limit, merge.Orders, first)
	if err != nil {
		return err
	}
	demand.Closed = merge.SaleWindow.Refusal(merge.SKU, merge.At) != nil
	plan := stock.PlanMerge(levels, demand, first, result.Outcomes)
	result.Segments, result.Merged = plan.Segments, plan.Merged
	for _, i := range plan.Admitted {
		o := merge.Orders[i]
		result.Outcomes[i] = stock.AcceptedOutcome(merge.SKU, o, merge.At)
		if err := s.insertFrom(ctx, tx, result.Outcomes[i].Deduction, plan.Parts[i], merge.At); err != nil {
			return err
		}
		if err := s.countUnits(ctx, tx, merge.SKU, o, merge.Limit); err != nil {
			return err
		}
	}
	return s.changeAll(ctx, tx, merge.SKU, plan.Changes, plan.Reserved, merge.Fences)
}

// insertFrom inserts a deduction, which is known not to be there, with what each segment gave.
func (s *Store) insertFrom(ctx context.Context, tx *transaction, d stock.Deduction, parts []stock.Part, at time.Time) error {
	segment := -1
	if len(parts) == 1 {
		segment = parts[0].Segment
	}
	_, err := tx.ExecContext(ctx, insertDeduction, values(d, segment, at)...)
	if err != nil || segment >= 0 {
		return err
	}
	return insertParts(ctx, tx, d, parts)
}

const insertPart = `INSERT INTO deduction_parts (sku_id, order_id, segment, quantity) VALUES ($1, $2, $3, $4)`

func insertParts(ctx context.Context, tx *transaction, d stock.Deduction, parts []stock.Part) error {
	for _, p := range parts {
		if _, err := tx.ExecContext(ctx, insertPart, d.SKU, d.OrderID, p.Segment, p.Quantity); err != nil {
			return err
		}
	}
	return nil
}
