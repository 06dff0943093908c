package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Settle implements [stock.Store].
func (s *Store) Settle(ctx context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	return s.settle(ctx, len(settlement.Requests), []stock.Settlement{settlement})
}

// SettleOrder implements [stock.Store]. To look an order up costs little here.
func (s *Store) SettleOrder(ctx context.Context, o stock.OrderSettlement) ([]stock.Settled, error) {
	if o.SKUs == nil {
		return nil, nil
	}
	return s.settle(ctx, len(o.SKUs), o.Lines())
}

// settle settles lines of different SKUs.
func (s *Store) settle(ctx context.Context, size int, lines []stock.Settlement) (results []stock.Settled, err error) {
	err = s.inShared(ctx, lines[0].Deadline, size, func(tx *transaction) error {
		results, err = tables.Settle(ctx, tx, lines, true, tables.LockSoon)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Expire implements [tables.Tx].
func (t *transaction) Expire(statements *tables.Statements, sku string, at time.Time) (reservations *int) {
	reservations = new(int)
	segments := statements.LockAll(sku)
	statements.Exec("").Do = func(ctx context.Context) error {
		expired, err := tables.WithParts(ctx, t, "expired", sku, tables.At(at), stock.ExpireLimit)
		if err != nil || len(expired) == 0 {
			return err
		}
		returns, write := stock.PlanExpiry(expired, len(*segments)), &tables.Statements{}
		*reservations = len(expired)
		write.Exec("end_expired", sku, stock.Column(expired, func(d stock.Deduction) string { return d.OrderID }))
		write.UncountInGroups(stock.SettlementPlan{Returns: returns})
		write.GiveBack(sku, returns)
		return t.Send(ctx, write)
	}
	return reservations
}

// Swept implements [tables.Tx]: here an entry that has ended is gone.
func (*transaction) Swept() *tables.Swept { return nil }

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
