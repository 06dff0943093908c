package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Settle implements [stock.Store].
func (s *Store) Settle(ctx context.Context, settlement stock.Settlement) (results []stock.Settled, err error) {
	err = s.inShared(ctx, settlement.Deadline, len(settlement.Requests), func(tx *transaction) error {
		segments, err := tables.Segments(ctx, tx, settlement.SKU)
		if err != nil {
			return err
		}
		read, write := &tables.Statements{}, &tables.Statements{}
		there := read.Whole(tables.LockWhole, settlement.SKU, settlement.OrderIDs())
		amended := read.Amendments(settlement)
		if err := tx.Send(ctx, read); err != nil {
			return err
		}
		at := now(settlement.At)
		plan := stock.PlanSettlement(settlement, there, amended, at, len(segments))
		results = plan.Results
		write.Settle(tx, settlement.SKU, plan, at)
		return tx.Send(ctx, write)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}
