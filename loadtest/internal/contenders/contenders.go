// Package contenders measures how fast one hot SKU can be sold, and mixes and baskets of many, by the designs of others and by
// ours, inside the process and over HTTP.
//
// # Rules of measuring
//
// All designs write to one PostgreSQL that syncs every commit, to the tables of the service: each accepted order is a row under
// a random UUID. They lock on one Redis. The client, the servers and this program share the machine.
//
// Each round of a contender sells a SKU of its own, except in mixes. Rounds, ratios, intervals and verdicts
// are those of package experiment. Each case ends with the audit of all its SKUs, which compares the answers with the rows.
//
// # Designs
//
// A design is an honest best effort: one statement where it needs no more, enough connections, and waiters that are woken, or
// poll at a pace that suits their number. A refusal while there is stock is no sale.
//
// A case (cases.go) lets entrants play: designs in this process (designs.go), services over HTTP (http.go), and
// several processes.
package contenders

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Config says what to measure, where, and how long.
type Config struct {
	experiment.Config
	Lines []int // of baskets
}

// scale is how much is measured.
type scale struct {
	rounds   int             // at most
	window   time.Duration   // of one contender in one round
	slices   int             // into which the window of one caller is cut
	warmUp   time.Duration   // of fresh processes, and of mixes in each round
	callers  [2]int          // some, and many; over HTTP they are connections
	segments int             // of a SKU
	units    int             // of the SKU that is sold out
	skus     [2]int          // of the mixes: some, and many
	trips    []time.Duration // to servers that are far away, and back
}

func scaleOf(size experiment.Size) scale {
	if size == experiment.Tiny {
		return scale{1, 40 * time.Millisecond, 2, 20 * time.Millisecond, [2]int{3, 8}, 3, 30, [2]int{20, 30}, []time.Duration{0, time.Millisecond}}
	}
	trips := []time.Duration{0, 3 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond}
	s := scale{10, time.Second, 10, 300 * time.Millisecond, [2]int{64, 512}, 10, 1000, [2]int{1000, 10_000}, trips}
	if size == experiment.Quick {
		s.rounds, s.window, s.warmUp = 1, 200*time.Millisecond, 100*time.Millisecond
	}
	return s
}

func (s scale) many() int { return s.callers[1] }

// besideName is the case whose table is in the README.
const besideName = "afternoon"

// question is a case.
type question struct {
	name    string
	ratio   string // what the ratios of its entrants are to; "": there are none
	about   string // the entrant that the summary names; "": none
	ask     func(ctx context.Context, w *world) error
	slices  bool // short rounds, and as many times more
	peers   int  // connections that peers inside this process share; 0: none are there
	targets []experiment.Target
}

// few connections of peers are two or three for each row, so that the next commit is under way while one is synced; many are for
// many SKUs.
const few, many = 32, 64

// questions are all cases in the order of the report.
func questions(s scale, lines []int) []question {
	// inParts are targets for what counts of one entrant, in parts of another one: a bound with some callers, and one with many; 0 is
	// none. A # in the name stands for the number of callers.
	inParts := func(what, of, to string, bounds ...float64) (all []experiment.Target) {
		for i, bound := range bounds {
			if n := s.callers[i]; bound > 0 {
				all = append(all, experiment.AtLeast(strings.ReplaceAll(what, "#", strconv.Itoa(n)), experiment.Times(counted, at(of, n), at(to, n)), bound))
			}
		}
		return all
	}
	toNoop := func(name string, some, most float64) []experiment.Target {
		return inParts(name+", # connections, in parts of noop", name, noopName, some, most)
	}
	toHot := func(mix string, some, most float64) []experiment.Target {
		return inParts(mix+" over HTTP, # connections, in parts of the hot SKU", overHTTPName+", "+mix, overHTTPName+", "+hotMix, some, most)
	}
	toAfternoon := func(mix string) []experiment.Target {
		return inParts(mix+" over HTTP, # connections, in parts of an afternoon's", overHTTPName+", "+mix, afternoonName+", "+mix, 2, 2)
	}
	var ofSizes []experiment.Target
	for _, n := range lines {
		bound := 1.2 // with many connections, small ones have more to share
		if n <= fewLines {
			bound = 1.5
		}
		mix := basketName(n, s.skus[0])
		ofSizes = append(ofSizes, inParts(mix+" over HTTP, # connections, in parts of plain SQL", overHTTPName+", "+mix, plainSQLName+", "+mix, 1.2, bound)...)
	}
	return []question{
		{name: "in process", ratio: inventoryName, about: inventoryName, ask: inProcess, peers: few, targets: slices.Concat( // where batches pay
			inParts("inventory, # callers, in parts of textbook segments", inventoryName, textbookName, 0, 15),
			inParts("inventory, # callers, in parts of Redis Lua", inventoryName, luaName, 0, 0.6),
		)},
		{name: "one caller", ratio: bareName, about: inventoryName, ask: oneCaller, peers: few, slices: true, targets: []experiment.Target{experiment.AtMost(
			"inventory, one caller, p50 in parts of a bare transaction's", experiment.Times(p50, at(inventoryName, 1), at(bareName, 1)), 1.2,
		)}},
		{
			name: "three processes", ratio: oneProcessName, about: threeProcessesName, ask: severalProcesses, peers: few, targets: append(
				inParts("three processes, in parts of one", threeProcessesName, oneProcessName, 0, 0.90),
				experiment.AtLeast("three processes, share of the one that sold least", experiment.Level(leastShare, at(threeProcessesName, s.many())), 0.2),
			),
		},
		{
			name: "mix", ratio: plainSQLName, about: inventoryName, ask: mixOfSKUs, peers: many,
			targets: slices.Concat(
				toHot(uniformName(s.skus[0]), 0.65, 0.65), toHot(zipfMix, 0, 0.8), toHot(hotAmidMix, 0, 0.8),
				toAfternoon(uniformName(s.skus[0])), toAfternoon(uniformName(s.skus[1])), toAfternoon(zipfMix), toAfternoon(hotAmidMix),
			),
		},
		{name: "baskets", ratio: plainSQLName, about: overHTTPName, ask: ofBaskets, peers: many, targets: ofSizes},
		{name: besideName, ratio: afternoonName, ask: besideAfternoon, targets: toAfternoon(uniformName(s.skus[0]))},
		{name: pricesName, ask: ofPrices, targets: inParts(
			noneOf(s.skus[1])+" over HTTP, # connections, in parts of "+noneOf(1), overHTTPName+", "+noneOf(s.skus[1]), overHTTPName+", "+noneOf(1), 0.9,
		)},
		{name: farName, ratio: farOf(0), ask: farServers},
		{name: "over HTTP", ratio: noopName, about: inventoryName, ask: overHTTP, targets: slices.Concat(
			toNoop(inventoryName, 0.45, 0.60), toNoop(manyName, 1.5, 1.5), toNoop(embeddedName, 0.40, 0.60), toNoop(soldOutName, 1, 1),
		)},
	}
}

// Names are the names of all cases.
func Names() (names []string) {
	for _, q := range questions(scale{}, nil) {
		names = append(names, q.name)
	}
	return names
}

// Run measures. With an error it returns what was measured until then.
func Run(ctx context.Context, c Config) (report.Document, error) {
	s := scaleOf(c.Size)
	needs := servers.Needs{Durable: true, Generator: "this program"}
	r, err := experiment.Compare(ctx, c.Config, "contenders", needs, func(on *servers.Servers) (asked []experiment.Asked, err error) {
		on.About.Add("measurement", fmt.Sprintf("rounds: up to %d of %.3g s", s.rounds, s.window.Seconds()))
		for _, q := range questions(s, c.Lines) {
			asked = append(asked, experiment.Asked{Name: q.name, Ask: func(ctx context.Context) (experiment.Result, error) {
				w := &world{Config: c, scale: s, postmaster: on.PostmasterPID, redisPID: on.RedisPID, expected: history.Expected{}}
				w.URLs = on.URLs
				if q.slices {
					w.scale.rounds, w.scale.window = s.rounds*s.slices, s.window/time.Duration(s.slices)
				}
				return w.answer(ctx, q)
			}})
		}
		return asked, nil
	})
	for _, result := range r.Results {
		if result.Name == besideName {
			r.Sections = append([]report.Section{beside(result, s)}, r.Sections...)
		}
	}
	return r.Document, err
}

// The metrics of all cases.
const (
	accepted   = "accepted per second"
	answers    = "answers per second" // acceptances, replays and refusals
	p50        = "p50 ms"
	p99        = "p99 ms"
	leastShare = "least share" // of the whole, that the process with the least got
	// The processor time of an order, by whose it is.
	serviceCost  = "service us"
	postgresCost = "PostgreSQL us"
	redisCost    = "Redis us"
	// The bytes of an order.
	logBytes  = "WAL bytes"
	diskBytes = "disk bytes"
	// counted is what ratios count: acceptances, or answers if every right one counts.
	counted = "what counts per second"
)

func metrics() []experiment.Metric {
	return []experiment.Metric{
		{Name: accepted, Exact: true},
		{Name: answers},
		{Name: p50},
		{Name: p99, Exact: true},
		{Name: leastShare},
		{Name: serviceCost},
		{Name: postgresCost},
		{Name: redisCost},
		{Name: logBytes},
		{Name: diskBytes},
		{Name: "accepted", Sum: true},
		{Name: "replayed", Sum: true, Rare: true},
		{Name: "refused", Sum: true, Rare: true},
		{Name: "gave up", Sum: true, Rare: true},
		{Name: "unheard", Sum: true, Rare: true},
	}
}

// entrant is a contender that sells.
type entrant struct {
	name    string
	mix     string // of SKUs; "": it sells one
	callers int
	orders  int64 // of a request; 0: one
	units   int64 // of an order; 0: one
	answers bool  // refusals and replays count, too
	unsure  bool  // an order that was given up may have a row

	sell    load.Seller
	prepare func(ctx context.Context, sku string) error // puts a fresh SKU up for sale in each round; nil: they are there
	sku     string                                      // that is there, or stands for several; "": its rows are not audited
	after   func(ctx context.Context, r sold) error     // is called after each round; nil: nothing is to be done
	warmUp  time.Duration                               // of each round: a service forgets what nobody has ordered for a second
	site    *site                                       // that does the work; nil: this process does

	// play plays a round; nil: this process sells for a window.
	play func(ctx context.Context) (sold, error)
}

// sold is what came of a round.
type sold struct {
	load.Sale
	warm  load.Sale          // what came before the window, for the audit alone
	sku   string             // whose rows are those of the round; "": it has none
	spent map[string]float64 // what all orders cost, by the metrics of what an order costs; nil: not known
	share float64            // of the whole, that the process with the least got; 0 where there is one process
}

// at is the name of an entrant with that many callers, or connections.
func at(name string, callers int) string { return fmt.Sprintf("%s, %d at once", name, callers) }

// sample are the metrics of a round. Orders accepted in a warm-up are in the totals only.
func (e *entrant) sample(r sold) experiment.Sample {
	orders, replayed, refused := max(1, e.orders), r.Counts[load.Replayed], r.Counts[load.Refused]
	perSecond := func(n int64) float64 { return float64(n) / r.Took.Seconds() }
	inWindow := (r.Waits.Count() - r.Counts[load.GaveUp]) * orders
	s := experiment.Sample{
		accepted: perSecond(inWindow), answers: perSecond(inWindow + replayed + refused),
		p50: report.Quantile(r.Waits, 50), p99: report.Quantile(r.Waits, 99),
		"accepted": float64(r.Counts[load.Accepted] * orders), "replayed": float64(replayed), "refused": float64(refused),
		"gave up": float64(r.Counts[load.GaveUp]), "unheard": float64(r.Unanswered * orders),
	}
	if s[counted] = s[accepted]; e.answers {
		s[counted] = s[answers]
	}
	for name, amount := range r.spent {
		s[name] = amount / (s[counted] * r.Took.Seconds())
	}
	if r.share > 0 {
		s[leastShare] = r.share
	}
	return s
}

// world is what one case needs: databases of its own, what runs on them, who sells, and what the answers promise.
type world struct {
	Config
	scale      scale
	postmaster int // of the PostgreSQL that was started; 0: none
	redisPID   int // of the Redis that was started; 0: none
	// Contenders inside this process share a database, the service on it, and the connections of peers.
	databaseURL string
	service     *selling.Service
	pool        *pgxpool.Pool

	entrants []*entrant
	expected history.Expected
	audits   []history.Auditor
	servers.Closers
}

// warmUp is how long an entrant sells before it is measured.
const warmUp = 20 * time.Millisecond

// enterAll has entrants enter that sell to some, and then to many callers.
func (w *world) enterAll(ctx context.Context, all ...entrant) {
	for _, n := range w.scale.callers {
		for _, e := range all {
			e.callers = n
			w.enter(ctx, e)
		}
	}
}

// enter adds an entrant. One that this process plays is warm then.
func (w *world) enter(ctx context.Context, e entrant) {
	w.entrants = append(w.entrants, &e)
	if e.play != nil {
		return
	}
	e.play = func(ctx context.Context) (sold, error) { return e.round(ctx, w.scale.window) }
	warm, err := e.round(ctx, warmUp)
	w.expect(&e, warm)
	if err != nil { // and not the whole case
		e.play = func(context.Context) (sold, error) { return sold{}, fmt.Errorf("warm up: %w", err) }
	}
}

// round sells for a window.
func (e *entrant) round(ctx context.Context, window time.Duration) (r sold, err error) {
	r.sku = e.sku
	if e.prepare != nil {
		r.sku = servers.NewName("hot-")
		if err := e.prepare(ctx, r.sku); err != nil {
			return sold{}, fmt.Errorf("put a SKU up for sale: %w", err)
		}
	}
	if r.warm, err = load.Buy(ctx, r.sku, e.callers, 0, e.warmUp, e.sell); err != nil {
		return r, err
	}
	stop := e.site.watch(ctx)
	r.Sale, err = load.Buy(ctx, r.sku, e.callers, 0, window, e.sell)
	r.spent = stop()
	if e.after != nil {
		err = errors.Join(err, e.after(context.WithoutCancel(ctx), r)) // it is for the audit
	}
	return r, err
}

// expect notes what the answers of a round promise, also those of an interrupted one.
func (w *world) expect(e *entrant, r sold) {
	if r.sku != "" {
		units := max(1, e.orders) * max(1, e.units)
		accepted, unheard := r.Counts[load.Accepted]+r.warm.Counts[load.Accepted], r.Unanswered+r.warm.Unanswered
		if e.unsure {
			unheard += r.Counts[load.GaveUp] + r.warm.Counts[load.GaveUp]
		}
		w.expected.Add(r.sku, units*accepted, units*unheard)
	}
}

// answer lets the entrants of a case play until ctx ends, and audits what came of it.
func (w *world) answer(ctx context.Context, q question) (result experiment.Result, err error) {
	defer func() { err = errors.Join(err, w.Close()) }()
	if q.peers > 0 {
		if err := w.openMarket(ctx, q.peers); err != nil {
			return experiment.Result{}, err
		}
	}
	if err := q.ask(ctx, w); err != nil {
		return experiment.Result{}, err
	}
	rules := w.Rules(w.scale.window, w.scale.rounds)
	if len(q.targets) == 0 { // nothing says which figures are narrow enough
		rules.Narrow = 0
	}
	result = experiment.Run(ctx, w.caseOf(q), rules)
	result.SKUs, result.Wrong = w.expected.Audit(ctx, mixed, w.audits...)
	return result, nil
}

// caseOf is a question as a case.
func (w *world) caseOf(q question) experiment.Case {
	c := experiment.Case{Factors: []string{"", "callers"}, Metrics: metrics(), Targets: q.targets}
	if q.ratio != "" {
		c.Ratios = []experiment.Ratio{{Head: "x " + q.ratio, Metric: counted, To: func(_ experiment.Result, c experiment.Contender) string {
			return q.ratio + strings.TrimPrefix(c.Name, c.Levels[0]) // with as many callers
		}}}
	}
	for _, e := range w.entrants {
		one := experiment.Contender{Name: at(e.name, e.callers), Levels: []string{e.name, strconv.Itoa(e.callers)}, Ours: strings.HasPrefix(e.name, inventoryName)}
		if e.mix != "" {
			c.Factors = []string{"", "SKUs", "callers"}
			one.Name, one.Levels = at(e.name+", "+e.mix, e.callers), []string{e.name, e.mix, strconv.Itoa(e.callers)}
		}
		one.Play = func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			r, err := e.play(ctx)
			w.expect(e, r)
			if err != nil {
				return nil, err
			}
			return e.sample(r), nil
		}
		if c.Contenders = append(c.Contenders, one); e.name == q.about {
			c.About = one.Name // callers become more
		}
	}
	return c
}

// sqlite returns the URL of a SQLite file that is not there yet, and audits it.
func (w *world) sqlite() (string, error) {
	folder, err := w.Folder()
	if err != nil {
		return "", err
	}
	return w.audited("sqlite:"+filepath.Join(folder, "inventory.db"), history.AuditRows), nil
}

// postgres makes an empty database on the PostgreSQL server, which is audited in some way.
func (w *world) postgres(ctx context.Context, audit func(ctx context.Context, databaseURL string) (stock.Audit, error)) (string, error) {
	databaseURL, err := servers.CreateDatabase(ctx, w.URLs.DatabaseURL, "contenders_", w.postmaster == 0, &w.Closers)
	return w.audited(databaseURL, audit), err
}

func (w *world) audited(databaseURL string, audit func(ctx context.Context, databaseURL string) (stock.Audit, error)) string {
	w.audits = append(w.audits, func(ctx context.Context) (stock.Audit, error) { return audit(ctx, databaseURL) })
	return databaseURL
}
