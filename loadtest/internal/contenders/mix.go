package contenders

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/load"
)

const (
	mixCase         = "mix"
	plainSQLName    = "plain SQL"
	writeAloneName  = "inventory, no shared writes"
	overHTTPName    = "inventory over HTTP"
	mixedThreeNames = "inventory, 3 processes"
	// The connections of plain SQL. With those of the services there is no room for more.
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
	wholeMix      = "orders of 3 of 1,000"
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

// manySKUs stands for all SKUs of mixes among the expected: their answers are not counted separately.
const manySKUs = "*"

// mixed adds up the rows of all of them.
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
	all := mixedDesigns()
	shops := make([]shop, len(all))
	for i, d := range all {
		if shops[i], err = d.open(ctx, m, w.Scale.many()); err != nil {
			return nil, fmt.Errorf("open %s: %w", d.name, err)
		}
	}
	site, err := w.serveService(ctx, m.databaseURL, w.URLs.RedisURL)
	if err != nil {
		return nil, err
	}
	for _, x := range mixes {
		for _, callers := range w.Scale.Callers {
			for i, d := range all {
				entrants = append(entrants, w.entrantOf(x, d, shops[i].sell, callers, 1))
			}
			overHTTP := site.entrant(offer{name: overHTTPName, sku: manySKUs, traffic: traffic{connections: callers, skus: x.skus}})
			overHTTP.mix = x.name
			entrants = append(entrants, overHTTP)
		}
		if len(x.skus) <= w.Scale.SKUs[0] { // one, and some
			entrants = append(entrants, m.processes(mixedThreeNames, x, threeProcesses, w.Scale.many(), w.URLs.RedisURL))
		}
	}
	whole, service := mix{wholeMix, mixes[1].skus}, inventory(inventoryName, nil)
	for _, callers := range w.Scale.Callers {
		overHTTP := site.entrant(offer{name: overHTTPName, sku: manySKUs, traffic: traffic{connections: callers, skus: whole.skus, lines: wholeLines}})
		overHTTP.mix, overHTTP.units = wholeMix, wholeLines
		entrants = append(entrants, w.entrantOf(whole, service, wholeOrders(m.service, whole.skus), callers, wholeLines), overHTTP)
	}
	return entrants, nil
}

// wholeLines are the SKUs of an order of several.
const wholeLines = 3

// wholeOrders sells one unit each of several SKUs an order.
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

// createAll puts SKUs of mixes up for sale.
func (m *market) createAll(ctx context.Context, skus []string) error {
	creating, ctx := errgroup.WithContext(ctx)
	creating.SetLimit(m.world.Scale.many())
	for _, sku := range skus {
		m.world.expected.Add(sku, 0, stock.MaxStock)
		creating.Go(func() error { return m.create(0)(ctx, sku) })
	}
	if err := creating.Wait(); err != nil {
		return fmt.Errorf("put SKUs up for sale: %w", err)
	}
	return nil
}

// mixedDesigns sell mixes in process: plain SQL, one statement an order; a Redis lock for each segment around a transaction; and
// the service, with and without shared writes.
func mixedDesigns() []design {
	return []design{
		plainSQL(fewConnections), plainSQL(mostConnections),
		locked(textbookName, kinds.Signal, 0, (*market).takeInSteps),
		inventory(inventoryName, nil),
		inventory(writeAloneName, func(_ *world, c *app.Config) error {
			c.WriteAlone = true
			return nil
		}),
	}
}

// plainSQL takes units over that many connections; the most are the market's.
func plainSQL(connections int) design {
	name := fmt.Sprintf("%s, %d connections", plainSQLName, connections)
	return design{name: name, open: func(ctx context.Context, m *market, _ int) (s shop, err error) {
		pool := m.pool
		if connections != mostConnections {
			pool, err = m.connect(ctx, connections)
		}
		return shop{sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
			return inserted(pool.Exec(ctx, takeSQL, o.SKU, rand.IntN(m.segments(0)), o.ID))
		}}, err
	}}
}

// entrantOf sells a mix in the process of the lab, that many units an order.
func (w *world) entrantOf(x mix, d design, sell load.Seller, callers int, units int64) *entrant {
	return &entrant{name: d.name, mix: x.name, ours: d.ours, callers: callers, units: units, measure: func(ctx context.Context) (round, error) {
		sold, err := load.Buy(ctx, "", callers, 0, w.Scale.Window, load.Among(x.skus, sell))
		return roundOf(sold, manySKUs), err
	}}
}

func mixTargets(s Scale) []experiment.Target {
	some := uniformName(s.SKUs[0])
	toHot := func(mix string, some, many float64) []experiment.Target {
		return s.inParts(mix+" over HTTP, # connections, in parts of the hot SKU", overHTTPName+", "+mix, overHTTPName+", "+hotMix, some, many)
	}
	return slices.Concat(
		s.inParts(some+", # callers, in parts of plain SQL", inventoryName+", "+some, plainSQLName+", 64 connections, "+some, 2.5, 5),
		toHot(some, 0.7, 0.7), toHot(zipfMix, 0, 0.8), toHot(hotAmidMix, 0, 0.8),
	)
}
