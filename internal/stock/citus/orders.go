package citus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
)

// Order implements [stock.Store]. The coordinator takes an order in one transaction over the nodes of its SKUs, in two phases:
// Citus finishes it if a node or the coordinator fails in between. An order that is there already is read from its nodes.
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	err = s.again(ctx, func(*placements) error {
		lines, created, err = s.coordinator.store.Place(ctx, placement)
		return err
	})
	if created || err != nil {
		return lines, created, err
	}
	there, err := s.PlacedOrder(ctx, placement.Order.OrderID)
	if err != nil {
		return nil, false, err
	}
	lines, err = placement.Replay(there)
	return lines, false, err
}

// PlacedOrder implements [stock.Store]. Between the two phases of its transaction some of its lines may be missing:
// then it returns an error, because the outcome is not known.
func (s *Store) PlacedOrder(ctx context.Context, orderID string) (*stock.PlacedOrder, error) {
	type row struct {
		order *stock.PlacedOrder
		skus  []string
	}
	there, err := on(ctx, s, orderID, func(o *postgres.Store) (r row, err error) {
		if r.order, err = tables.Order(ctx, o.DB, orderID); r.order != nil && err == nil {
			r.skus, err = tables.All(ctx, o.DB, tables.Value[string], "skus_of_order", orderID)
		}
		return r, err
	})
	if err != nil || there.order == nil {
		return nil, err
	}
	for _, sku := range there.skus {
		found, err := on(ctx, s, sku, func(o *postgres.Store) (bool, error) {
			return tables.LineOf(ctx, o.DB, there.order, sku, orderID)
		})
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("read order %q: its line of SKU %q is not there yet", orderID, sku)
		}
	}
	return there.order, nil
}

// placeOrders writes orders in one transaction over nodes, and returns when each was taken. If one of them is not taken, because it
// is there already or a segment holds too little, none is, and the error is [postgres.ErrApart].
func placeOrders(ctx context.Context, s *postgres.Store, deadline time.Time, orders []stock.Placement) (at []*time.Time, err error) {
	err = s.InTx(ctx, deadline, func(tx tables.Tx) error {
		at, err = takeOrders(ctx, tx, orders)
		if postgres.Answered(err) {
			return errors.Join(postgres.ErrApart, err)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("place orders: %w", err)
	}
	return at, nil
}

// takeOrders takes orders, and locks as every write does: the rows of the orders, then the segments, then the deductions.
func takeOrders(ctx context.Context, tx tables.Tx, orders []stock.Placement) ([]*time.Time, error) {
	o, _ := postgres.OrdersOf(orders) // they agree, or would not share a write
	rows := o.Rows
	var now time.Time
	take := &tables.Statements{}
	take.Exec("share_briefly")
	take.Exec("copy_orders", append([]any{o.Heads.OrderIDs, o.Heads.Reserves, o.Given}, o.Heads.Texts...)...)
	take.Exec("copy_order_lines", o.Lines.OrderIDs, o.SKUs, o.Lines.Quantities)
	take.Exec("take_segments", rows.SKUs, rows.Segments, rows.Layouts, rows.Tokens, rows.Owners, rows.Units, rows.Reserved).
		Wrote = func(written int64) error {
		if written != int64(len(rows.SKUs)) { // not all rows had what was wanted of them
			return postgres.ErrApart
		}
		return nil
	}
	tx.Instant(take, time.Time{}, &now)
	if err := tx.Send(ctx, take); err != nil {
		return nil, err
	}
	at := make([]*time.Time, len(orders))
	var each []time.Time // the instant of each line
	for n, p := range orders {
		decided := now
		if !p.At.IsZero() {
			decided = p.At
		}
		for _, line := range p.Lines {
			if line.SaleWindow.Refusal("", decided) != nil {
				return nil, postgres.ErrApart
			}
			each = append(each, decided)
		}
		at[n] = &decided
	}
	args := []any{o.SKUs, o.Lines.OrderIDs, o.Lines.Quantities, o.Lines.Reserves, o.Segments, each}
	write := &tables.Statements{}
	write.Exec("copy_deductions", append(args, o.Lines.Texts...)...)
	return at, tx.Send(ctx, write)
}

// Prune implements [stock.Store]. It removes the lines of orders of several SKUs, in the shards of the order ids, before the
// deductions, in the SKU's shard: the next call removes a deduction without its line, but a line without its deduction would
// look like half an order. So an order may be marked although its SKU is busy.
func (s *Store) Prune(ctx context.Context, p stock.Pruning) (stock.Pruned, error) {
	listed, stay, err := s.listed(ctx, p)
	if err != nil {
		return stock.Pruned{}, err
	}
	p.OrderIDs = slices.DeleteFunc(slices.Clone(p.OrderIDs), func(id string) bool { return stay[id] })
	if !p.DryRun {
		_, err = eachShard(ctx, s, listed, func(o *postgres.Store, ids []string) (map[string]bool, error) {
			return nil, o.InTx(ctx, time.Time{}, func(tx tables.Tx) error {
				unlist, gone := &tables.Statements{}, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return stay[id] })
				if err := tables.MarkOrders(ctx, tx, unlist, p.SKU, gone); err != nil {
					return err
				}
				unlist.Exec("unlist", p.SKU, gone)
				tables.DeleteOwnOrders(unlist, gone)
				return tx.Send(ctx, unlist)
			})
		})
		if err != nil {
			return stock.Pruned{}, err
		}
	}
	return on(ctx, s, p.SKU, func(o *postgres.Store) (stock.Pruned, error) { return o.Prune(ctx, p) })
}

// listed returns the ids that are orders of several SKUs, and which of them stay: one of their lines may not be pruned yet.
func (s *Store) listed(ctx context.Context, p stock.Pruning) (ids []string, stay map[string]bool, err error) {
	orders, err := eachShard(ctx, s, p.OrderIDs, func(o *postgres.Store, some []string) (map[string][]string, error) {
		skus := make(map[string][]string)
		return skus, o.DB.Each(ctx, tables.Into(skus), "skus_of_orders", some)
	})
	if err != nil {
		return nil, nil, err
	}
	lines := make(map[string][]string) // order ids, by SKU
	for id, skus := range orders {
		if slices.Contains(skus, p.SKU) { // otherwise another deduction of this SKU has the same id
			ids = append(ids, id)
			for _, sku := range skus {
				lines[sku] = append(lines[sku], id)
			}
		}
	}
	stay = make(map[string]bool)
	for sku, some := range lines {
		ended, err := on(ctx, s, sku, func(o *postgres.Store) ([]string, error) {
			return tables.All(ctx, o.DB, tables.Value[string], "ended", sku, some, p.Before)
		})
		if err != nil {
			return nil, nil, err
		}
		for _, id := range some {
			stay[id] = stay[id] || !slices.Contains(ended, id)
		}
	}
	return ids, stay, nil
}
