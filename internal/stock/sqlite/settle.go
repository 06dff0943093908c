package sqlite

import (
	"context"
	"time"

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
		there := read.Whole("lock_whole", settlement.SKU, settlement.OrderIDs())
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

// SettleOrder implements [stock.Store]. To look an order up costs little here.
func (s *Store) SettleOrder(ctx context.Context, o stock.OrderSettlement) (results []stock.Settled, err error) {
	if o.SKUs == nil {
		return nil, nil
	}
	err = s.inShared(ctx, o.Deadline, len(o.SKUs), func(tx *transaction) error {
		read, write, at := &tables.Statements{}, &tables.Statements{}, now(o.At)
		there, amended, segments := make(map[string]map[string]stock.Deduction), make(map[string]map[string]stock.Amendment), make(map[string]int)
		for _, sku := range o.SKUs {
			all, err := tables.Segments(ctx, tx, sku)
			if err != nil {
				return err
			}
			segments[sku] = len(all)
			there[sku] = read.Whole("lock_whole", sku, []string{o.Request.OrderID})
			amended[sku] = read.Amendments(o.Of(sku))
		}
		if err := tx.Send(ctx, read); err != nil {
			return err
		}
		plans, decided := o.Plan(func(line stock.Settlement) stock.SettlementPlan {
			return stock.PlanSettlement(line, there[line.SKU], amended[line.SKU], at, segments[line.SKU])
		})
		results = decided
		for i, sku := range o.SKUs {
			write.Settle(tx, sku, plans[i], at)
		}
		return tx.Send(ctx, write)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Expire implements [tables.Tx].
func (t *transaction) Expire(statements *tables.Statements, sku string, at time.Time) *tables.Returned {
	back := &tables.Returned{}
	statements.Exec("").Do = func(ctx context.Context) error {
		segments, err := tables.Segments(ctx, t, sku)
		if err != nil {
			return err
		}
		expired, err := tables.WithParts(ctx, t, "expired", sku, tables.At(at), stock.ExpireLimit)
		if err != nil || len(expired) == 0 {
			return err
		}
		returns, write := stock.PlanExpiry(expired, len(segments)), &tables.Statements{}
		back.Reservations, back.Segments = len(expired), returns.Segments
		write.Exec("end_expired", sku, stock.Column(expired, func(d stock.Deduction) string { return d.OrderID }))
		write.GiveBack(sku, returns)
		return t.Send(ctx, write)
	}
	return back
}

// Prune implements [stock.Store].
func (s *Store) Prune(ctx context.Context, p stock.Pruning) (pruned stock.Pruned, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		pruned, err = tables.Prune(ctx, tx, p)
		return err
	})
	if busy(err) {
		return stock.Pruned{Busy: true}, nil
	}
	return pruned, err
}
