package contenders

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

// postgresConnections are the connections of the peers: two or three for each row, so that the next commit is under way while
// one is synced; and those of peers of many SKUs.
const postgresConnections, mostConnections = 32, 64

// inProcess lets all designs sell to some, and to many callers.
func inProcess(ctx context.Context, w *world) error {
	return w.openAll(ctx, w.Scale.Callers[:], designs()...)
}

// oneCaller compares an undisturbed order through the service with the least that is durable, in short rounds.
func oneCaller(ctx context.Context, w *world) error {
	return w.openAll(ctx, []int{1}, append(inventories(), bareTransaction())...)
}

// openAll opens a market for designs, each of which sells to each number of callers.
func (w *world) openAll(ctx context.Context, callers []int, all ...design) error {
	if err := w.openMarket(ctx, postgresConnections); err != nil {
		return err
	}
	for _, n := range callers {
		for _, d := range all {
			s, err := d.open(ctx, w, n)
			if err != nil {
				return fmt.Errorf("open %s: %w", d.name, err)
			}
			w.sell(ctx, &entrant{name: d.name, callers: n}, s)
		}
	}
	return nil
}

const (
	threeProcesses     = 3
	oneProcessName     = "inventory, 1 process"
	threeProcessesName = "inventory, 3 processes"
)

// severalProcesses compares one process with three that sell the same SKU, to as many callers in all. Each has its callers
// inside.
func severalProcesses(ctx context.Context, w *world) error {
	if err := w.openMarket(ctx, postgresConnections); err != nil {
		return err
	}
	w.enterProcesses(oneProcessName, 1)
	w.enterProcesses(threeProcessesName, threeProcesses)
	return nil
}

// enterProcesses has processes enter that sell a fresh SKU in each round.
func (w *world) enterProcesses(name string, n int) {
	callers := w.Scale.many()
	w.enter(&entrant{name: name, callers: callers, play: func(ctx context.Context) (sold, error) {
		sku := servers.NewName("hot-")
		if err := w.create(0)(ctx, sku); err != nil {
			return sold{}, fmt.Errorf("put a SKU up for sale: %w", err)
		}
		sales, err := crowd.Job{
			DatabaseURL: w.databaseURL, RedisURL: w.URLs.RedisURL, SKU: sku, Callers: callers, WarmUp: w.Scale.WarmUp, Window: w.Scale.Window,
		}.Share(ctx, n)
		if err != nil {
			return sold{sku: sku, Sale: load.Sale{Unanswered: stock.MaxStock}}, err // without a report, any number may be sold
		}
		return together(sku, sales), nil
	}})
}

// together is what some processes sold of one SKU, and the share of the one that sold least.
func together(sku string, sales []load.Sale) sold {
	r := sold{sku: sku, Sale: load.Together(sales)}
	if len(sales) > 1 {
		least := slices.MinFunc(sales, func(a, b load.Sale) int { return cmp.Compare(a.Counts[load.Accepted], b.Counts[load.Accepted]) })
		r.share = compare.Ratio(float64(least.Counts[load.Accepted]), float64(r.Counts[load.Accepted]))
	}
	return r
}

// mix is a way of buyers to choose among SKUs.
type mix struct {
	name string
	skus []string // as often as each is chosen
}

// The names of mixes that targets are about, and of the service that sells them over HTTP.
const (
	hotMix       = "one hot SKU"
	zipfMix      = "Zipf"
	hotAmidMix   = "one hot amid many"
	basketMix    = "baskets of 3 of 1,000"
	overHTTPName = "inventory over HTTP"
	mixedSKU     = "mix-" // begins the names of SKUs that are sold in mixes
	basketLines  = 3      // SKUs of a basket, a unit of each
)

func uniformName(skus int) string { return "uniform over " + humanize.Comma(int64(skus)) }

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

// mixOfSKUs compares ways to sell many SKUs at once, and several in one order. All sell the same ones, from one database: plain
// SQL, one statement or transaction an order; a Redis lock for each segment around a transaction; and the service, in process and
// over HTTP.
func mixOfSKUs(ctx context.Context, w *world) error {
	if err := w.openMarket(ctx, mostConnections); err != nil {
		return err
	}
	mixes := mixesOf(w.Scale)
	all := mixes[2].skus
	for _, sku := range all {
		w.expected.Add(sku, 0, stock.MaxStock)
	}
	creating, stop := errgroup.WithContext(ctx)
	creating.SetLimit(w.Scale.many())
	for _, sku := range all {
		creating.Go(func() error { return w.create(0)(stop, sku) })
	}
	if err := creating.Wait(); err != nil {
		return fmt.Errorf("put SKUs up for sale: %w", err)
	}
	over, err := w.serve(ctx, w.databaseURL, w.URLs.RedisURL)
	if err != nil {
		return err
	}
	textbook, err := locked(textbookName, kinds.SetNX, 0, (*world).takeInSteps).open(ctx, w, w.Scale.many())
	if err != nil {
		return fmt.Errorf("open %s: %w", textbookName, err)
	}
	plain := func(ctx context.Context, o load.Order) (load.Outcome, error) {
		return w.take(ctx, o, rand.IntN(w.Scale.Segments))
	}
	for _, x := range mixes {
		for _, callers := range w.Scale.Callers {
			w.sellMix(ctx, plainSQLName, x, callers, shop{sell: load.Among(x.skus, plain)})
			w.sellMix(ctx, textbookName, x, callers, shop{sell: load.Among(x.skus, textbook.sell)})
			w.sellMix(ctx, inventoryName, x, callers, shop{sell: load.Among(x.skus, load.Through(w.service))})
			w.sellMix(ctx, overHTTPName, x, callers, shop{sell: load.Among(x.skus, over.one), site: over})
		}
	}
	for _, callers := range w.Scale.Callers {
		w.sellBaskets(ctx, mix{basketMix, mixes[1].skus}, callers, over)
	}
	return nil
}

// sellMix has an entrant enter that sells a mix.
func (w *world) sellMix(ctx context.Context, name string, x mix, callers int, s shop) {
	e := &entrant{name: name, mix: x.name, callers: callers}
	if x.name == basketMix {
		e.units = basketLines
	}
	s.sku = manySKUs
	w.sell(ctx, e, s)
}

// sellBaskets has entrants enter that sell orders of several SKUs: those of a basket are neighbours.
func (w *world) sellBaskets(ctx context.Context, x mix, callers int, over *site) {
	basket := func() (skus []string) {
		for i, from := 0, rand.IntN(len(x.skus)); i < basketLines; i++ {
			skus = append(skus, x.skus[(from+i)%len(x.skus)])
		}
		return skus
	}
	w.sellMix(ctx, plainSQLName, x, callers, shop{sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
		return w.takeAll(ctx, o, basket())
	}})
	w.sellMix(ctx, inventoryName, x, callers, shop{sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
		order := stock.MultiOrder{OrderID: o.ID}
		for _, sku := range basket() {
			order.Lines = append(order.Lines, stock.Line{SKU: sku, Quantity: 1})
		}
		_, _, err := w.service.Order(ctx, order)
		return load.Became(err)
	}})
	w.sellMix(ctx, overHTTPName, x, callers, shop{site: over, sell: func(_ context.Context, o load.Order) (load.Outcome, error) {
		return over.buy(o.ID, basket()...)
	}})
}

const (
	noopName     = "noop"
	embeddedName = "inventory embedded"
	soldOutName  = "inventory sold out"
	// manyName sells many orders a request.
	manyName = "inventory, 64 orders a request"
	manySize = 64
)

// overHTTP compares the service with a handler that does nothing.
func overHTTP(ctx context.Context, w *world) error {
	noop, err := w.serveNoop(ctx)
	if err != nil {
		return err
	}
	service, err := w.serve(ctx, "", w.URLs.RedisURL)
	if err != nil {
		return err
	}
	databaseURL, err := w.sqlite()
	if err != nil {
		return err
	}
	embedded, err := w.serve(ctx, databaseURL, app.Embedded)
	if err != nil {
		return err
	}
	gone, err := service.soldOut(ctx)
	if err != nil {
		return err
	}
	for _, connections := range w.Scale.Callers {
		w.sell(ctx, &entrant{name: noopName, callers: connections}, shop{site: noop, sell: func(_ context.Context, o load.Order) (load.Outcome, error) {
			return noop.buy(o.ID, "hot") // there is none
		}})
		w.sell(ctx, &entrant{name: inventoryName, callers: connections}, shop{site: service, prepare: service.create, sell: service.one})
		w.sell(ctx, &entrant{name: manyName, callers: connections, orders: manySize}, shop{site: service, prepare: service.create, sell: service.together})
		w.sell(ctx, &entrant{name: embeddedName, callers: connections}, shop{site: embedded, prepare: embedded.create, sell: embedded.one})
		w.sell(ctx, &entrant{name: soldOutName, callers: connections, answers: true}, gone)
	}
	return nil
}
