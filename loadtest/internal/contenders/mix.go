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

// manySKUs stands in the books for all SKUs that mixes sell: what buyers of each were told is not known.
const manySKUs = "*"

// mixed adds up what the rows of all of them show.
func mixed(all stock.Audit) stock.Balance {
	sum := stock.Balance{SKU: manySKUs}
	for _, b := range all.SKUs {
		if strings.HasPrefix(b.SKU, mixedSKU) {
			sum.Committed += b.Reserved + b.Committed
		}
	}
	sum.Initial = sum.Committed
	return sum
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
			overHTTP := site.entrant(overHTTPName, always(manySKUs), traffic{connections: callers, skus: x.skus})
			overHTTP.mix = x.name
			entrants = append(entrants, overHTTP)
		}
		if len(x.skus) <= w.Scale.SKUs[0] { // one, and some
			entrants = append(entrants, m.processes(mixedThreeNames, x, threeProcesses, w.Scale.many(), w.URLs.RedisURL))
		}
	}
	return entrants, nil
}

// createAll puts SKUs of mixes up for sale.
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
		return seller{fmt.Sprintf("%s, %d connections", plainSQLName, connections), false, func(ctx context.Context, o load.Order) (load.Outcome, error) {
			return inserted(pool.Exec(ctx, takeSQL, o.SKU, rand.IntN(m.segments(0)), o.ID))
		}}
	}
	return []seller{
		plain(few, fewConnections), plain(m.pool, mostConnections),
		{locked.name, false, shop.sell},
		{inventoryName, true, load.Through(m.service)},
		{writeAloneName, true, load.Through(alone)},
	}, nil
}

// entrantOf sells a mix in the process of the lab, so many units an order.
func (m *market) entrantOf(x mix, s seller, callers int, units int64) *entrant {
	return &entrant{name: s.name, mix: x.name, ours: s.ours, callers: callers, measure: func(ctx context.Context) (round, error) {
		sold, err := load.Buy(ctx, "", callers, 0, m.world.Scale.Window, load.Among(x.skus, s.sell))
		r := roundOf(sold, manySKUs)
		r.units = units
		return r, err
	}}
}

func mixTargets(s Scale) []experiment.Target {
	some, hot := uniformName(s.SKUs[0]), overHTTPName+", "+hotMix
	claims := []claim{{
		some + ", # callers, in parts of plain SQL", inventoryName + ", " + some, plainSQLName + ", 64 connections, " + some, [2]float64{2.5, 5},
	}}
	for _, c := range []struct {
		mix    string
		bounds [2]float64
	}{{some, [2]float64{0.7, 0.7}}, {zipfMix, [2]float64{0, 0.8}}, {hotAmidMix, [2]float64{0, 0.8}}} {
		claims = append(claims, claim{c.mix + " over HTTP, # connections, in parts of the hot SKU", overHTTPName + ", " + c.mix, hot, c.bounds})
	}
	return s.targets(claims...)
}
