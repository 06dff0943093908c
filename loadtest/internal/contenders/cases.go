package contenders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/afternoon"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// inProcess lets all designs sell to some, and to many callers.
func inProcess(ctx context.Context, w *world) error {
	return w.openAll(ctx, w.scale.callers[:], designs(w.scale.segments)...)
}

// oneCaller compares an undisturbed order through the service with the least that is durable, in short rounds.
func oneCaller(ctx context.Context, w *world) error {
	return w.openAll(ctx, []int{1}, append(inventories(), bareTransaction())...)
}

// openAll opens designs, each of which sells to each number of callers.
func (w *world) openAll(ctx context.Context, callers []int, all ...design) error {
	for _, n := range callers {
		for _, d := range all {
			e, err := d(ctx, w, n)
			if err != nil {
				return fmt.Errorf("open a design: %w", err)
			}
			e.callers = n
			w.enter(ctx, e)
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
	w.enterProcesses(ctx, oneProcessName, 1)
	w.enterProcesses(ctx, threeProcessesName, threeProcesses)
	return nil
}

// enterProcesses has processes enter that sell a fresh SKU in each round.
func (w *world) enterProcesses(ctx context.Context, name string, n int) {
	callers := w.scale.many()
	w.enter(ctx, entrant{name: name, callers: callers, play: func(ctx context.Context) (sold, error) {
		sku := servers.NewName("hot-")
		if err := create(w.service, w.scale.segments)(ctx, sku); err != nil {
			return sold{}, fmt.Errorf("put a SKU up for sale: %w", err)
		}
		sales, err := crowd.Job{
			DatabaseURL: w.databaseURL, RedisURL: w.URLs.RedisURL, SKU: sku, Callers: callers, WarmUp: w.scale.warmUp, Window: w.scale.window,
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
		r.share = report.Ratio(float64(least.Counts[load.Accepted]), float64(r.Counts[load.Accepted]))
	}
	return r
}

// mix is a way of buyers to choose what they order.
type mix struct {
	name  string
	skus  []string // as often as each is chosen
	lines int      // of an order: different SKUs, a unit of each
}

// choose chooses the SKUs of an order.
func (m mix) choose() []string {
	chosen := make([]string, 0, m.lines)
	for len(chosen) < m.lines {
		if sku := m.skus[rand.IntN(len(m.skus))]; !slices.Contains(chosen, sku) {
			chosen = append(chosen, sku)
		}
	}
	return chosen
}

// The names of mixes that targets are about.
const (
	hotMix     = "one hot SKU"
	zipfMix    = "Zipf"
	hotAmidMix = "one hot amid many"
	soldOutMix = "sold out"
	mixedSKU   = "mix-" // begins the names of SKUs that are sold in mixes
)

func uniformName(skus int) string { return "uniform over " + humanize.Comma(int64(skus)) }

func basketName(lines, skus int) string {
	return fmt.Sprintf("baskets of %d of %s", lines, humanize.Comma(int64(skus)))
}

// mixesOf are the mixes of some SKUs: one alone; all alike, of some and of many; the first most often, the second half as often,
// the third a third as often (Zipf's law, s = 1); half of all orders for one, and the others for the rest.
func mixesOf(s scale) []mix {
	names := make([]string, s.skus[1])
	for i := range names {
		names[i] = fmt.Sprint(mixedSKU, i)
	}
	some := names[:s.skus[0]]
	var zipf, amid []string
	for i, name := range some {
		for range len(some) / (i + 1) {
			zipf = append(zipf, name)
		}
		amid = append(amid, some[0], name)
	}
	return []mix{{hotMix, names[:1], 1}, {uniformName(len(some)), some, 1}, {uniformName(len(names)), names, 1}, {zipfMix, zipf, 1}, {hotAmidMix, amid, 1}}
}

// basketsOf are orders of several of some SKUs, all alike.
func basketsOf(s scale, lines int) mix {
	return mix{basketName(lines, s.skus[0]), mixesOf(s)[1].skus, lines}
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

// buyer buys a unit of each of some SKUs in one order.
type buyer func(ctx context.Context, id string, skus ...string) (load.Outcome, error)

// through buys through a service inside this process.
func through(service *selling.Service) buyer {
	return func(ctx context.Context, id string, skus ...string) (load.Outcome, error) {
		if len(skus) == 1 {
			return load.Through(service)(ctx, load.Order{SKU: skus[0], ID: id})
		}
		order := stock.MultiOrder{OrderID: id}
		for _, sku := range skus {
			order.Lines = append(order.Lines, stock.Line{SKU: sku, Quantity: 1})
		}
		_, _, err := service.Order(ctx, order)
		return load.Became(err)
	}
}

// plainly buys by plain SQL of an afternoon.
func plainly(sell func(ctx context.Context, id string, lines []afternoon.Line) (load.Outcome, error)) buyer {
	return func(ctx context.Context, id string, skus ...string) (load.Outcome, error) {
		lines := make([]afternoon.Line, len(skus))
		for i, sku := range skus {
			lines[i] = afternoon.Line{SKU: sku, Quantity: 1}
		}
		return sell(ctx, id, lines)
	}
}

// vendor is a way to sell mixes.
type vendor struct {
	name string
	buy  buyer
	at   *site // that it asks; nil: none
}

// sellMixes has entrants enter that sell each mix in each way to some, and to many callers.
func (w *world) sellMixes(ctx context.Context, mixes []mix, vendors ...vendor) {
	for _, x := range mixes {
		var all []entrant
		for _, v := range vendors {
			all = append(all, entrant{
				name: v.name, mix: x.name, units: int64(x.lines), site: v.at, sku: manySKUs, warmUp: w.scale.warmUp,
				sell: func(ctx context.Context, o load.Order) (load.Outcome, error) { return v.buy(ctx, o.ID, x.choose()...) },
			})
		}
		w.enterAll(ctx, all...)
	}
}

// stock puts SKUs of mixes up for sale somewhere.
func (w *world) stock(ctx context.Context, skus []string, create func(ctx context.Context, sku string) error) error {
	creating, stop := errgroup.WithContext(ctx)
	creating.SetLimit(w.scale.many())
	for _, sku := range skus {
		w.expected.Add(sku, 0, stock.MaxStock)
		creating.Go(func() error { return create(stop, sku) })
	}
	if err := creating.Wait(); err != nil {
		return fmt.Errorf("put SKUs up for sale: %w", err)
	}
	return nil
}

// sites starts the service on a database, and that of an afternoon, and puts the same SKUs up for sale at both.
func (w *world) sites(ctx context.Context, databaseURL string, skus []string) (ours, theirs *site, err error) {
	if ours, err = w.serve(ctx, databaseURL, w.URLs.RedisURL); err != nil {
		return nil, nil, err
	}
	if theirs, err = w.serveAfternoon(ctx, afternoonConnections); err != nil {
		return nil, nil, err
	}
	return ours, theirs, errors.Join(w.stock(ctx, skus, ours.create), w.stock(ctx, skus, theirs.create))
}

// mixOfSKUs compares ways to sell many SKUs at once: plain SQL, one statement an order; the service in process and over HTTP; and
// that of an afternoon.
func mixOfSKUs(ctx context.Context, w *world) error {
	mixes := mixesOf(w.scale)
	ours, theirs, err := w.sites(ctx, w.databaseURL, mixes[2].skus)
	if err != nil {
		return err
	}
	plain := func(ctx context.Context, id string, skus ...string) (load.Outcome, error) {
		return w.takeOrder(ctx, load.Order{SKU: skus[0], ID: id}, rand.IntN(w.scale.segments))
	}
	w.sellMixes(ctx, mixes, vendor{plainSQLName, plain, nil}, vendor{inventoryName, through(w.service), nil},
		vendor{overHTTPName, ours.buy, ours}, vendor{afternoonName, theirs.buy, theirs})
	return nil
}

// ofBaskets compares ways to sell several SKUs in one order: plain SQL in a transaction and in one statement, the service in
// process, embedded and over HTTP, and that of an afternoon.
func ofBaskets(ctx context.Context, w *world) error {
	skus := mixesOf(w.scale)[1].skus
	ours, theirs, err := w.sites(ctx, w.databaseURL, skus)
	if err != nil {
		return err
	}
	plain, err := afternoon.Open(ctx, theirs.databaseURL, many)
	if err != nil {
		return err
	}
	w.OnClose(func() error { plain.Close(); return nil })
	embedded, err := w.startEmbedded(ctx)
	if err != nil {
		return err
	}
	if err := w.stock(ctx, skus, create(embedded, w.scale.segments)); err != nil {
		return err
	}
	var baskets []mix
	for _, lines := range w.Lines {
		baskets = append(baskets, basketsOf(w.scale, lines))
	}
	w.sellMixes(ctx, baskets, vendor{plainSQLName, plainly(plain.Sell), nil}, vendor{onceName, plainly(plain.SellAtOnce), nil},
		vendor{inventoryName, through(w.service), nil}, vendor{embeddedName, through(embedded), nil},
		vendor{overHTTPName, ours.buy, ours}, vendor{afternoonName, theirs.buy, theirs})
	return nil
}

// besideAfternoon compares the service with that of an afternoon, in all kinds of work.
func besideAfternoon(ctx context.Context, w *world) error {
	mixes := mixesOf(w.scale)
	ours, theirs, err := w.sites(ctx, "", mixes[1].skus)
	if err != nil {
		return err
	}
	gone, err := ours.soldOut(ctx)
	theirGone, err2 := theirs.soldOut(ctx)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	w.sellMixes(ctx, []mix{mixes[0], mixes[1], basketsOf(w.scale, fewLines)}, vendor{afternoonName, theirs.buy, theirs}, vendor{overHTTPName, ours.buy, ours})
	gone.name, gone.mix, theirGone.name, theirGone.mix = overHTTPName, soldOutMix, afternoonName, soldOutMix
	w.enterAll(ctx, theirGone, gone)
	return nil
}

// beside is the comparison in brief: a row for each kind of work, and for each number of connections what the service of an
// afternoon and ours do, and how many times as much that is.
func beside(r experiment.Result, s scale) report.Section {
	t := &report.Table{Columns: []string{"answers a second"}}
	for _, n := range s.callers {
		t.Columns = append(t.Columns, fmt.Sprintf("the afternoon's, %d connections", n), "inventory", "times")
	}
	for _, x := range []string{hotMix, uniformName(s.skus[0]), basketName(fewLines, s.skus[0]), soldOutMix} {
		row := []string{x}
		for _, n := range s.callers {
			theirs, ours := at(afternoonName+", "+x, n), at(overHTTPName+", "+x, n)
			row = append(row, report.Number(r.Of(theirs, counted).Value), report.Number(r.Of(ours, counted).Value), experiment.Times(counted, ours, theirs)(r).String())
		}
		t.Rows = append(t.Rows, row)
	}
	return report.Section{Name: "beside what a team writes in an afternoon", Table: t, Notes: []string{fmt.Sprintf(
		"both run in a process of their own, with the same garbage collection, on one PostgreSQL; the afternoon's has a pool of %d connections, inventory the usual one; "+
			"in brackets is the interval of 95%%; sold out: one request in ten is a winner's retry", afternoonConnections)}}
}

const (
	overHTTPName  = "inventory over HTTP"
	afternoonName = "an afternoon's over HTTP"
	onceName      = "plain SQL, one statement"
	fewLines      = 3 // of the usual basket
	// afternoonConnections make it fast: more of them wait for the rows of hot SKUs, and for processors.
	afternoonConnections = 8

	noopName     = "noop"
	embeddedName = "inventory embedded"
	soldOutName  = "inventory sold out"
	// manyName sells many orders a request.
	manyName = "inventory, 64 orders a request"
	manySize = 64
)

// overHTTP compares the service with a handler that does nothing.
func overHTTP(ctx context.Context, w *world) error {
	noop, err := w.serveAfternoon(ctx, 0)
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
	gone.name = soldOutName
	w.enterAll(ctx,
		entrant{name: noopName, site: noop, sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
			return noop.buy(ctx, o.ID, "hot") // there is none
		}},
		entrant{name: inventoryName, site: service, prepare: service.create, sell: service.one},
		entrant{name: manyName, orders: manySize, site: service, prepare: service.create, sell: service.together},
		entrant{name: embeddedName, site: embedded, prepare: embedded.create, sell: embedded.one},
		gone,
	)
	return nil
}
