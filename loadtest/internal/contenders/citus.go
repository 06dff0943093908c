package contenders

import (
	"context"
	"fmt"
	"math/rand/v2"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

const (
	citusCase      = "Citus"
	onPostgresName = "inventory on PostgreSQL"
	onCitusPrefix  = "inventory on Citus, "
	// wholeMix has orders of several SKUs.
	wholeMix   = "whole orders"
	wholeLines = 4
	// A coordinator and two nodes, with few or many shards.
	citusWorkers          = 2
	fewShards, manyShards = 8, 32
)

func onCitus(shards int) string { return fmt.Sprintf("%s%d shards", onCitusPrefix, shards) }

// nodes compares the service on one PostgreSQL with the same on Citus with two nodes, by the same processors.
func nodes(ctx context.Context, w *world) (entrants []*entrant, err error) {
	plainURL, err := w.postgres(ctx)
	if err != nil {
		return nil, err
	}
	cluster, err := servers.StartCitus(ctx, citusWorkers)
	if err != nil {
		return nil, fmt.Errorf("start the nodes of Citus: %w", err)
	}
	w.OnClose(cluster.Stop)
	type store struct{ name, databaseURL string }
	stores := []store{{onPostgresName, plainURL}}
	for _, shards := range []int{fewShards, manyShards} {
		databaseURL, err := cluster.CreateDatabase(ctx, shards)
		if err != nil {
			return nil, fmt.Errorf("divide a database: %w", err)
		}
		stores = append(stores, store{onCitus(shards), w.audited(databaseURL)})
	}
	mixes := nodesMixes(w.Scale)
	for _, on := range stores {
		m := &market{world: w, databaseURL: on.databaseURL}
		if m.service, err = m.start(ctx, app.Config{DatabaseURL: on.databaseURL, RedisURL: w.URLs.RedisURL}); err != nil {
			return nil, err
		}
		if err := m.createAll(ctx, mixes[len(mixes)-1].skus); err != nil {
			return nil, err
		}
		for _, x := range mixes {
			sell, units := load.Through(m.service), int64(1)
			if x.name == wholeMix {
				sell, units = wholeOrders(m.service, x.skus), wholeLines
			}
			for _, callers := range w.Scale.Callers {
				entrants = append(entrants, w.entrantOf(x, design{name: on.name, ours: true}, sell, callers, units))
			}
		}
	}
	return entrants, nil
}

// nodesMixes are one SKU, a fifth of some, some, and orders of several of them.
func nodesMixes(s Scale) []mix {
	all := mixesOf(s)
	some := all[1].skus
	few := some[:len(some)/5]
	return []mix{all[0], {uniformName(len(few)), few}, all[1], {wholeMix, some}}
}

// wholeOrders sells one unit each of several SKUs an order, which have their shards by chance.
func wholeOrders(service *selling.Service, skus []string) load.Seller {
	return func(ctx context.Context, o load.Order) (load.Outcome, error) {
		order := stock.MultiOrder{OrderID: o.ID}
		from := rand.IntN(len(skus))
		for i := range min(wholeLines, len(skus)) {
			order.Lines = append(order.Lines, stock.Line{SKU: skus[(from+i)%len(skus)], Quantity: 1})
		}
		_, _, err := service.Order(ctx, order)
		return load.Became(err)
	}
}

func nodesTargets(s Scale) (all []experiment.Target) {
	for _, c := range []struct {
		mix   string
		bound float64
	}{{hotMix, 0.9}, {uniformName(s.SKUs[0] / 5), 0.8}, {uniformName(s.SKUs[0]), 0.8}, {wholeMix, 0.4}} {
		what := fmt.Sprintf("%s on Citus, %d shards, # callers, in parts of PostgreSQL", c.mix, fewShards)
		all = append(all, s.inParts(what, onCitus(fewShards)+", "+c.mix, onPostgresName+", "+c.mix, c.bound, c.bound)...)
	}
	return all
}

// withoutCitus is why the case is left out; "": it is not.
func withoutCitus(ctx context.Context, on servers.URLs) (string, error) {
	has, err := on.HasExtension(ctx, "citus")
	if err != nil || has {
		return "", err
	}
	return "the case " + citusCase + " is left out: its extension is not installed where PostgreSQL runs", nil
}
