package citus

import (
	"context"
	"slices"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

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
			return nil, o.Unlist(ctx, p.SKU, slices.DeleteFunc(ids, func(id string) bool { return stay[id] }))
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
		return o.SKUsOfOrders(ctx, some)
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
		ended, err := on(ctx, s, sku, func(o *postgres.Store) ([]string, error) { return o.Ended(ctx, sku, some, p.Before) })
		if err != nil {
			return nil, nil, err
		}
		for _, id := range some {
			stay[id] = stay[id] || !slices.Contains(ended, id)
		}
	}
	return ids, stay, nil
}
