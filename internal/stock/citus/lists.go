package citus

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// eachNode does work at all nodes at the same time, at each node shard by shard. It returns what was found at the nodes that
// did not fail, and the first error.
func eachNode[T any](p *placements, work func(*shard) ([]T, error)) (found []T, err error) {
	var mu sync.Mutex
	var nodes errgroup.Group
	for _, n := range p.nodes {
		nodes.Go(func() error {
			var here []T
			for _, h := range p.shards {
				if h.node != n {
					continue
				}
				some, err := work(h)
				if err != nil {
					return err
				}
				here = append(here, some...)
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, here...)
			return nil
		})
	}
	err = nodes.Wait()
	return found, err
}

// Statuses implements [stock.Store].
func (s *Store) Statuses(ctx context.Context, after string, limit int) ([]stock.Status, error) {
	return firstSKUs(ctx, s, limit, func(o *postgres.Store) ([]stock.Status, error) { return o.Statuses(ctx, after, limit) },
		func(status stock.Status) string { return status.SKU })
}

// Names implements [stock.Store].
func (s *Store) Names(ctx context.Context, from string, limit int) ([]stock.SKUName, error) {
	return firstSKUs(ctx, s, limit, func(o *postgres.Store) ([]stock.SKUName, error) { return o.Names(ctx, from, limit) },
		func(n stock.SKUName) string { return n.SKU })
}

// firstSKUs reads a page of SKUs. Each shard returns a page; the first SKUs of all these pages are the page.
func firstSKUs[T any](ctx context.Context, s *Store, limit int, read func(*postgres.Store) ([]T, error), sku func(T) string) (page []T, err error) {
	err = s.again(ctx, func(p *placements) error {
		page, err = eachNode(p, func(h *shard) ([]T, error) { return read(h.store) })
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(page, func(a, b T) int { return cmp.Compare(sku(a), sku(b)) })
	return page[:min(limit, len(page))], nil
}

// StatusesOf implements [stock.Store].
func (s *Store) StatusesOf(ctx context.Context, skus ...string) (map[string]stock.Status, error) {
	return eachShard(ctx, s, skus, func(o *postgres.Store, some []string) (map[string]stock.Status, error) {
		return o.StatusesOf(ctx, some...)
	})
}

// ListOrders implements [stock.Store].
func (s *Store) ListOrders(ctx context.Context, on bool) error {
	return s.coordinator.store.ListOrders(ctx, on)
}

// OrdersListed implements [stock.Store].
func (s *Store) OrdersListed(ctx context.Context) (bool, error) {
	return s.coordinator.store.OrdersListed(ctx)
}

// OrderLines implements [stock.Store]. Each shard returns a page; the answer ends where the first of them ends.
func (s *Store) OrderLines(ctx context.Context, query stock.OrderQuery) (all stock.LinePage, err error) {
	var pages []stock.LinePage
	err = s.again(ctx, func(p *placements) error {
		pages, err = eachNode(p, func(h *shard) ([]stock.LinePage, error) {
			page, err := h.store.OrderLines(ctx, query)
			return []stock.LinePage{page}, err
		})
		return err
	})
	if err != nil {
		return all, err
	}
	for _, page := range pages {
		all.Lines = append(all.Lines, page.Lines...)
		if ends := page.Next != (stock.LinePosition{}); ends && (all.Next == (stock.LinePosition{}) || page.Next.Compare(all.Next) < 0) {
			all.Next = page.Next
		}
	}
	slices.SortFunc(all.Lines, func(a, b stock.Deduction) int { return stock.LineOf(a).Compare(stock.LineOf(b)) })
	if all.Next != (stock.LinePosition{}) {
		all.Lines = slices.DeleteFunc(all.Lines, func(d stock.Deduction) bool { return stock.LineOf(d).Compare(all.Next) > 0 })
	}
	if len(all.Lines) > query.Limit {
		all.Lines = all.Lines[:query.Limit]
		all.Next = stock.LineOf(all.Lines[query.Limit-1])
	}
	return all, nil
}

// Expired implements [stock.Store]. A node that is gone does not keep the reservations at other nodes from ending: it is an
// error only if nothing is found at those.
func (s *Store) Expired(ctx context.Context, at time.Time, limit int) (due []stock.Due, err error) {
	err = s.again(ctx, func(p *placements) error {
		due, err = eachNode(p, func(h *shard) ([]stock.Due, error) { return h.store.Expired(ctx, at, limit) })
		if len(due) > 0 {
			return nil
		}
		return err
	})
	slices.SortFunc(due, func(a, b stock.Due) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.SKU, b.SKU)) })
	return due[:min(limit, len(due))], err
}

// BeingCounted implements [stock.Store].
func (s *Store) BeingCounted(ctx context.Context, limit int) (skus []string, err error) {
	err = s.again(ctx, func(p *placements) error {
		skus, err = eachNode(p, func(h *shard) ([]string, error) { return h.store.BeingCounted(ctx, limit) })
		if len(skus) > 0 {
			return nil
		}
		return err
	})
	return skus[:min(limit, len(skus))], err
}

// ExpireFree implements [stock.Store].
func (s *Store) ExpireFree(ctx context.Context, at time.Time, skus ...string) (map[string]stock.Ended, error) {
	return eachShard(ctx, s, skus, func(o *postgres.Store, some []string) (map[string]stock.Ended, error) {
		return o.ExpireFree(ctx, at, some...)
	})
}

// eachShard does work at each shard of some SKUs, with the SKUs of that shard, and returns all that is found.
func eachShard[T any](ctx context.Context, s *Store, skus []string, work func(*postgres.Store, []string) (map[string]T, error)) (map[string]T, error) {
	all := make(map[string]T)
	err := s.again(ctx, func(p *placements) error {
		of := make(map[*shard][]string)
		for _, sku := range skus {
			of[p.of(sku)] = append(of[p.of(sku)], sku)
		}
		var mu sync.Mutex
		var shards errgroup.Group
		for h, some := range of {
			shards.Go(func() error {
				found, err := work(h.store, some)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(all, found)
				return err
			})
		}
		return shards.Wait()
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Ages implements [stock.Store].
func (s *Store) Ages(ctx context.Context, skus ...string) (map[string]stock.Age, error) {
	return eachShard(ctx, s, skus, func(o *postgres.Store, some []string) (map[string]stock.Age, error) { return o.Ages(ctx, some...) })
}

// SoldOut implements [stock.Store].
func (s *Store) SoldOut(ctx context.Context, skus []string, limit int, accepted func(sku, orderID []byte)) (map[string]stock.View, error) {
	var calls sync.Mutex
	return eachShard(ctx, s, skus, func(o *postgres.Store, some []string) (map[string]stock.View, error) {
		return o.SoldOut(ctx, some, limit, func(sku, orderID []byte) {
			calls.Lock()
			defer calls.Unlock()
			accepted(sku, orderID)
		})
	})
}

// Views implements [stock.Store].
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	return eachShard(ctx, s, skus, func(o *postgres.Store, some []string) (map[string]stock.View, error) { return o.Views(ctx, some...) })
}
