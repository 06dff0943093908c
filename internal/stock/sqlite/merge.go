package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Merge) (stock.MergeResult, error) {
	return merge.Once(func(merge stock.Merge) (result stock.MergeResult, err error) {
		err = s.inShared(ctx, merge.Deadline, len(merge.Orders), func(tx *transaction) error {
			merge := merge
			merge.At = now(merge.At)
			result, err = s.merge(ctx, tx, merge)
			return err
		})
		return result, err
	})
}

// merge is a merge as a part of a transaction.
func (s *Store) merge(ctx context.Context, tx *transaction, merge stock.Merge) (result stock.MergeResult, err error) {
	segments, err := readSegments(ctx, tx, merge.SKU)
	if err != nil {
		return result, err
	}
	expired, back, err := s.expire(ctx, tx, merge.SKU, merge.At, len(segments))
	if err != nil {
		return result, err
	}
	facts, err := s.facts(ctx, tx, merge.SKU, merge.At, merge.Limit, merge.Orders)
	if err != nil {
		return result, err
	}
	facts.Expired = expired
	if facts.NextExpiry, err = nextExpiry(ctx, tx, merge.SKU); err != nil {
		return result, err
	}
	plan, result, err := merge.Plan(segments, stock.LevelsOf(segments, back), facts)
	if err != nil {
		return result, err
	}
	for _, i := range plan.Admitted {
		if err := s.insertFrom(ctx, tx, result.Outcomes[i].Deduction, plan.Parts[i], merge.At); err != nil {
			return result, err
		}
		if err := s.countUnits(ctx, tx, merge.SKU, merge.Orders[i], merge.Limit); err != nil {
			return result, err
		}
	}
	return result, s.changeAll(ctx, tx, merge.SKU, plan.Changes, plan.Reserved, merge.Fences)
}

// insertFrom inserts a deduction, which is known not to be there, with what each segment gave.
func (s *Store) insertFrom(ctx context.Context, tx *transaction, d stock.Deduction, parts []stock.Part, at time.Time) error {
	var only *int
	if len(parts) == 1 {
		only = &parts[0].Segment
	}
	_, err := tx.ExecContext(ctx, insertDeduction, values(&d, only, at)...)
	if err != nil || only != nil {
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
