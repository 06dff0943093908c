package contenders

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"inventory/loadtest/internal/kinds"

	"github.com/dustin/go-humanize"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
)

const (
	mixCase         = "mix"
	plainSQLName    = "plain SQL"
	writeAloneName  = "inventory, no shared writes"
	overHTTPName    = "inventory over HTTP"
	mixedThreeNames = "inventory, 3 processes"
	// The connections of plain SQL. No more fit beside those of the services.
	fewConnections, mostConnections = 16, 64
	// mixedSKU begins the names of SKUs that are sold in mixes.
	mixedSKU = "mix-"
)

// mix is a way of buyers to choose among SKUs.
type mix struct {
	name string
	skus []string // as often as each is chosen
}

// The names of mixes that targets are about.
const (
	hotMix        = "one hot SKU"
	zipfMix       = "Zipf"
	hotAmidMix    = "one hot amid many"
	uniformPrefix = "uniform over "
)

func uniformName(skus int) string { return uniformPrefix + humanize.Comma(int64(skus)) }

// mixesOf are the mixes of some SKUs: one alone; all alike, of some and of many; the first most often, the second half as often,
// the third a third as often (Zipf's law, s = 1); half of all orders for one, and the others for the rest.
func mixesOf(s Scale) []mix {
	names := make([]string, s.SKUs[1])
	for i := range names {
		names[i] = fmt.Sprint(mixedSKU, i)
	}
	some := names[:s.SKUs[0]]
	var zipf, amid []string
	for i, name := range some {
		for range len(some) / (i + 1) {
			zipf = append(zipf, name)
		}
		amid = append(amid, some[0], name)
	}
	return []mix{{hotMix, names[:1]}, {uniformName(len(some)), some}, {uniformName(len(names)), names}, {zipfMix, zipf}, {hotAmidMix, amid}}
}

// mixed is what buyers of mixes were told, of all SKUs together.
type mixed struct{ accepted, unheard int64 }

// against tells in words if the rows are not what buyers were told of.
func (m *mixed) against(all stock.Audit) []string {
	var orders int64
	for _, b := range all.SKUs {
		if strings.HasPrefix(b.SKU, mixedSKU) {
			orders += b.Reserved + b.Committed
		}
	}
	if orders < m.accepted || orders > m.accepted+m.unheard {
		return []string{fmt.Sprintf("mixes: %d orders have rows, and buyers know of %d; %d more were not heard", orders, m.accepted, m.unheard)}
	}
	return nil
}

// note notes what a round told its buyers, whose orders have so many units. A process that told nothing may have sold anything.
func (m *mixed) note(units int64, r round, err error) (round, error) {
	if err != nil {
		m.unheard += stock.MaxStock
	}
	m.accepted += units * r.counts[load.Accepted]
	m.unheard += units * r.unheard
	return r, err
}

// mixOfSKUs compares ways to sell many SKUs at once. All sell the same ones, from one database.
func mixOfSKUs(ctx context.Context, w *world) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w, mostConnections)
	if err != nil {
		return nil, err
	}
	mixes := mixesOf(w.Scale)
	if err := m.createAll(ctx, mixes[2].skus); err != nil {
		return nil, err
	}
	sellers, err := m.openMixed(ctx)
	if err != nil {
		return nil, err
	}
	site, err := w.serveService(ctx, m.databaseURL, w.URLs.RedisURL)
	if err != nil {
		return nil, err
	}
	for _, x := range mixes {
		for _, callers := range w.Scale.Callers {
			for _, s := range sellers {
				entrants = append(entrants, m.entrantOf(x, s, callers, 1))
			}
			entrants = append(entrants, site.entrantOf(x, overHTTPName, callers))
		}
		if len(x.skus) <= w.Scale.SKUs[0] { // one, and some
			entrants = append(entrants, m.severalOf(x))
		}
	}
	return entrants, nil
}

// createAll puts SKUs up for sale. What buyers were told of each is not known, but of all of them.
func (m *market) createAll(ctx context.Context, skus []string) error {
	creating, ctx := errgroup.WithContext(ctx)
	creating.SetLimit(m.world.Scale.many())
	for _, sku := range skus {
		m.world.told.Add(sku, 0, stock.MaxStock)
		creating.Go(func() error { return m.create(0)(ctx, sku) })
	}
	if err := creating.Wait(); err != nil {
		return fmt.Errorf("put SKUs up for sale: %w", err)
	}
	return nil
}

// seller sells in the process of the lab.
type seller struct {
	name string
	ours bool
	sell load.Seller
}

// openMixed opens those who sell mixes in process: plain SQL, one statement an order; a Redis lock for each segment around a
// transaction; and the service, with and without shared writes.
func (m *market) openMixed(ctx context.Context) ([]seller, error) {
	few, err := m.connect(ctx, fewConnections)
	if err != nil {
		return nil, err
	}
	locked := locked(textbookName, kinds.Signal, 0, (*market).takeInSteps)
	shop, err := locked.open(ctx, m, m.world.Scale.many())
	if err != nil {
		return nil, err
	}
	alone, err := m.start(ctx, app.Config{DatabaseURL: m.databaseURL, RedisURL: m.world.URLs.RedisURL, WriteAlone: true})
	if err != nil {
		return nil, err
	}
	plain := func(pool *pgxpool.Pool, connections int) seller {
		return seller{fmt.Sprintf("%s, %d connections", plainSQLName, connections), false, m.plainSQL(pool)}
	}
	return []seller{
		plain(few, fewConnections), plain(m.pool, mostConnections),
		{locked.name, false, shop.sell},
		{inventoryName, true, load.Through(m.service)},
		{writeAloneName, true, load.Through(alone)},
	}, nil
}

func (m *market) plainSQL(pool *pgxpool.Pool) load.Seller {
	return func(ctx context.Context, o load.Order) (load.Outcome, error) {
		return inserted(pool.Exec(ctx, takeSQL, o.SKU, rand.IntN(m.segments(0)), o.ID))
	}
}

// entrantOf sells a mix in the process of the lab, so many units an order.
func (m *market) entrantOf(x mix, s seller, callers int, units int64) *entrant {
	return &entrant{name: s.name, mix: x.name, ours: s.ours, callers: callers, measure: func(ctx context.Context) (round, error) {
		sold, err := load.Buy(ctx, "", callers, 0, m.world.Scale.Window, load.Among(x.skus, s.sell))
		return m.world.mixed.note(units, roundOf(sold, ""), err)
	}}
}

// severalOf sells a mix by three processes.
func (m *market) severalOf(x mix) *entrant {
	return &entrant{name: mixedThreeNames, mix: x.name, ours: true, callers: m.world.Scale.many(), measure: func(ctx context.Context) (round, error) {
		sales, err := m.compete(ctx, job{Job: crowd.Job{SKUs: x.skus, RedisURL: m.world.URLs.RedisURL, Callers: m.world.Scale.many()}}, threeProcesses)
		return m.world.mixed.note(1, together("", sales), err)
	}}
}

// entrantOf sells a mix over HTTP.
func (s *site) entrantOf(x mix, name string, connections int) *entrant {
	return &entrant{name: name, mix: x.name, ours: true, callers: connections, measure: func(ctx context.Context) (round, error) {
		r, err := s.send(ctx, "*", traffic{connections: connections, skus: x.skus})
		return s.world.mixed.note(1, r, err)
	}}
}

func mixTargets(s Scale) (targets []experiment.Target) {
	some := uniformName(s.SKUs[0])
	of := func(name, mix string, callers int) string { return at(name+", "+mix, callers) }
	for i, bound := range []float64{2.5, 5} {
		n := s.Callers[i]
		targets = append(targets, atLeast(fmt.Sprintf("%s, %d callers, in parts of plain SQL", some, n),
			of(inventoryName, some, n), of(plainSQLName+", 64 connections", some, n), bound))
	}
	for i, n := range s.Callers {
		targets = append(targets, atLeast(fmt.Sprintf("%s over HTTP, %d connections, in parts of the hot SKU", some, n),
			of(overHTTPName, some, n), of(overHTTPName, hotMix, n), 0.7))
		if i == 0 {
			continue
		}
		for _, mix := range []string{zipfMix, hotAmidMix} {
			targets = append(targets, atLeast(fmt.Sprintf("%s over HTTP, %d connections, in parts of the hot SKU", mix, n),
				of(overHTTPName, mix, n), of(overHTTPName, hotMix, n), 0.8))
		}
	}
	return targets
}
