package contenders

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

const (
	threeProcesses     = 3
	oneProcessName     = "inventory, 1 process"
	threeProcessesName = "inventory, 3 processes"
)

// severalProcesses compares one process with three that sell the same SKU, to as many callers in all. Each has its callers
// inside.
func severalProcesses(ctx context.Context, w *world) ([]*entrant, error) {
	m, err := openMarket(ctx, w, postgresConnections)
	if err != nil {
		return nil, err
	}
	many := w.Scale.many()
	return []*entrant{
		m.processes(oneProcessName, mix{}, 1, many, w.URLs.RedisURL), m.processes(threeProcessesName, mix{}, threeProcesses, many, w.URLs.RedisURL),
	}, nil
}

// processes sell a mix, or a fresh one in each round if it has no SKUs, with their locks at a Redis.
func (m *market) processes(name string, x mix, n, callers int, redisURL string) *entrant {
	return &entrant{name: name, mix: x.name, ours: true, callers: callers, measure: func(ctx context.Context) (round, error) {
		sku, scale := manySKUs, m.world.Scale
		if x.name == "" {
			sku = servers.NewName("hot-")
			if err := m.create(0)(ctx, sku); err != nil {
				return round{}, fmt.Errorf("put a SKU up for sale: %w", err)
			}
		}
		sales, err := crowd.Job{
			DatabaseURL: m.databaseURL, RedisURL: redisURL, SKU: sku, SKUs: x.skus, Callers: callers, WarmUp: scale.WarmUp, Window: scale.Window,
		}.Share(ctx, m.world.Worker, n)
		if err != nil {
			return round{sku: sku, unanswered: stock.MaxStock}, err // without a report, any number may be sold
		}
		return together(sku, sales), nil
	}}
}

// together is what some processes sold of one SKU, and the share of the one that sold least.
func together(sku string, sales []load.Sale) round {
	r := roundOf(load.Together(sales), sku)
	if len(sales) > 1 {
		least := slices.MinFunc(sales, func(a, b load.Sale) int { return cmp.Compare(a.Counts[load.Accepted], b.Counts[load.Accepted]) })
		r.share = compare.Ratio(float64(least.Counts[load.Accepted]), float64(r.counts[load.Accepted]))
	}
	return r
}

func (s Scale) shareTarget() experiment.Target {
	three := at(threeProcessesName, s.many())
	return experiment.AtLeast("three processes, share of the one that sold least", experiment.Level(leastShare, three), 0.2)
}

const (
	redisCase    = "Redis"
	oneRedisName = "three processes, one Redis"
	sentinelName = "three processes, Sentinel"
	clusterName  = "three processes, Redis Cluster"
)

// kindsOfRedis compares three processes that have their locks at one Redis with three that have them at a master which Sentinels
// watch, and at a Redis Cluster.
func kindsOfRedis(ctx context.Context, w *world) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w, postgresConnections)
	if err != nil {
		return nil, err
	}
	urls := map[string]string{oneRedisName: w.URLs.RedisURL}
	for name, start := range map[string]func(context.Context) (string, func() error, error){
		sentinelName: servers.StartSentinel, clusterName: servers.StartCluster,
	} {
		redisURL, stop, err := start(ctx)
		if err != nil {
			return nil, fmt.Errorf("start the Redis of %s: %w", name, err)
		}
		w.OnClose(stop)
		urls[name] = redisURL
	}
	for _, callers := range w.Scale.Callers {
		for _, name := range []string{oneRedisName, sentinelName, clusterName} {
			entrants = append(entrants, m.processes(name, mix{}, threeProcesses, callers, urls[name]))
		}
	}
	return entrants, nil
}
