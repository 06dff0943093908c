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
		read, write, at := &tables.Statements{}, &tables.Statements{}, now(lines[0].At)
		there, amended, segments := make(map[string]map[string]stock.Deduction), make(map[string]map[string]stock.Amendment), make(map[string]int)
		for _, line := range lines {
			all, err := tables.Segments(ctx, tx, line.SKU)
			if err != nil {
				return err
			}
			segments[line.SKU] = len(all)
			there[line.SKU] = read.Whole("lock_whole", line.SKU, line.OrderIDs())
			amended[line.SKU] = read.Amendments(line)
		}
		if err := tx.Send(ctx, read); err != nil {
			return err
		}
		plans, decided := stock.PlanLines(lines, func(line stock.Settlement) stock.SettlementPlan {
			return stock.PlanSettlement(line, there[line.SKU], amended[line.SKU], at, segments[line.SKU])
		})
		results = decided
		for i, line := range lines {
			write.Settle(tx, line.SKU, plans[i], at)
		}
		return tx.Send(ctx, write)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Expire implements [tables.Tx].
func (t *transaction) Expire(statements *tables.Statements, sku string, at time.Time) (reservations *int) {
	reservations = new(int)
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
		*reservations = len(expired)
		write.Exec("end_expired", sku, stock.Column(expired, func(d stock.Deduction) string { return d.OrderID }))
		write.GiveBack(sku, returns)
		return t.Send(ctx, write)
	}
	return reservations
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
