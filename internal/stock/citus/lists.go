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

// Statuses implements [stock.Store]. Each shard returns a page; the first SKUs of all these pages are the page.
func (s *Store) Statuses(ctx context.Context, after string, limit int) (page []stock.Status, err error) {
	err = s.again(ctx, func(p *placements) error {
		page, err = eachNode(p, func(h *shard) ([]stock.Status, error) { return h.store.Statuses(ctx, after, limit) })
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(page, func(a, b stock.Status) int { return cmp.Compare(a.SKU, b.SKU) })
	return page[:min(limit, len(page))], nil
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

// Views implements [stock.Store].
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	return eachShard(ctx, s, skus, func(o *postgres.Store, some []string) (map[string]stock.View, error) { return o.Views(ctx, some...) })
}
