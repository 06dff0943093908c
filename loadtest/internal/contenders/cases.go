package contenders

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

var (
	//go:embed fill_random.sql
	fillRandomSQL string
	//go:embed fill_growing.sql
	fillGrowingSQL string
	//go:embed take_filled.sql
	takeFilledSQL string
)

// inProcess lets all designs sell to some, and to many callers.
func inProcess(ctx context.Context, w *world) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w, postgresConnections)
	if err != nil {
		return nil, err
	}
	for _, callers := range w.Scale.Callers {
		if entrants, err = m.enter(ctx, entrants, callers, designs()...); err != nil {
			return nil, err
		}
	}
	return entrants, nil
}

// enter adds designs to the entrants.
func (m *market) enter(ctx context.Context, entrants []*entrant, callers int, all ...design) ([]*entrant, error) {
	for _, d := range all {
		e, err := m.entrant(ctx, d, callers)
		if err != nil {
			return nil, err
		}
		entrants = append(entrants, e)
	}
	return entrants, nil
}

// inProcessTargets are about many callers, where batches pay.
func inProcessTargets(s Scale) []experiment.Target {
	many := s.many()
	return []experiment.Target{
		atLeast(fmt.Sprintf("inventory, %d callers, in parts of textbook segments", many), at(inventoryName, many), at(textbookName, many), 20),
		atLeast(fmt.Sprintf("inventory, %d callers, in parts of Redis Lua", many), at(inventoryName, many), at(luaName, many), 1),
	}
}

// oneCaller compares what an order costs whom nobody disturbs: through the service, and by the least that is durable.
// They take turns in short rounds.
func oneCaller(ctx context.Context, w *world) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w, postgresConnections)
	if err != nil {
		return nil, err
	}
	return m.enter(ctx, nil, 1, inventory(), inventoryNoLocks(), inventoryEmbedded(), bareTransaction())
}

func oneCallerTargets(Scale) []experiment.Target {
	return []experiment.Target{{
		Name: "inventory, one caller, p50 in parts of a bare transaction's",
		Of:   experiment.Times(p50, at(inventoryName, 1), at(bareName, 1)), Sign: report.LessThan, Bound: 1.2,
	}}
}

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
		m.processes(oneProcessName, 1, many, w.URLs.RedisURL), m.processes(threeProcessesName, threeProcesses, many, w.URLs.RedisURL),
	}, nil
}

// processes sell a fresh SKU in each round, with their locks at a Redis.
func (m *market) processes(name string, n, callers int, redisURL string) *entrant {
	return &entrant{name: name, ours: true, callers: callers, measure: func(ctx context.Context) (round, error) {
		sku := servers.NewName("hot-")
		if err := m.create(0)(ctx, sku); err != nil {
			return round{}, fmt.Errorf("put a SKU up for sale: %w", err)
		}
		sales, err := m.compete(ctx, job{Job: crowd.Job{SKU: sku, RedisURL: redisURL, Callers: callers}}, n)
		if err != nil {
			return round{sku: sku, unheard: stock.MaxStock}, err // a process that told nothing may have sold anything
		}
		return together(sku, sales), nil
	}}
}

// compete has processes do the same job, which share its callers.
func (m *market) compete(ctx context.Context, like job, n int) ([]load.Sale, error) {
	jobs, scale := make([]job, n), m.world.Scale
	for i := range jobs {
		jobs[i] = like
		jobs[i].Kind, jobs[i].DatabaseURL = workCallers, m.databaseURL
		jobs[i].Callers, jobs[i].WarmUp, jobs[i].Window = (like.Callers+i)/n, scale.WarmUp, scale.Window
	}
	return worker.Compete[load.Sale](ctx, m.world.Worker, scale.WarmUp+scale.Window+crowd.Limit, jobs)
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

func severalProcessesTargets(s Scale) []experiment.Target {
	three := at(threeProcessesName, s.many())
	return []experiment.Target{
		atLeast("three processes, in parts of one", three, at(oneProcessName, s.many()), 0.90),
		{Name: "three processes, share of the one that sold least", Of: experiment.Level(leastShare, three), Sign: report.MoreThan, Bound: 0.2},
	}
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
			entrants = append(entrants, m.processes(name, threeProcesses, callers, urls[name]))
		}
	}
	return entrants, nil
}

func kindsOfRedisTargets(s Scale) (targets []experiment.Target) {
	for _, callers := range s.Callers {
		for _, name := range []string{sentinelName, clusterName} {
			targets = append(targets, atLeast(fmt.Sprintf("%s, %d callers, in parts of one Redis", name, callers), at(name, callers), at(oneRedisName, callers), 0.95))
		}
	}
	return targets
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
func overHTTP(ctx context.Context, w *world) (entrants []*entrant, err error) {
	noop, err := w.serve(ctx, job{Kind: workNoop})
	if err == nil {
		err = noop.warmUp(ctx, noopSKU)
	}
	if err != nil {
		return nil, err
	}
	service, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	databaseURL, err := w.sqlite()
	if err != nil {
		return nil, err
	}
	embedded, err := w.serveService(ctx, databaseURL, app.Embedded)
	if err != nil {
		return nil, err
	}
	gone, err := service.sellOut(ctx)
	if err != nil {
		return nil, fmt.Errorf("sell a SKU out: %w", err)
	}
	for _, connections := range w.Scale.Callers {
		entrants = append(entrants,
			&entrant{name: noopName, callers: connections, measure: func(ctx context.Context) (round, error) {
				return noop.send(ctx, noopSKU, traffic{connections: connections})
			}},
			service.entrant(stock.Terms{}, inventoryName, traffic{connections: connections}),
			service.entrant(stock.Terms{}, manyName, traffic{connections: connections, together: manySize}),
			embedded.entrant(stock.Terms{}, embeddedName, traffic{connections: connections}),
			gone.entrant(connections),
		)
	}
	return entrants, nil
}

// overHTTPTargets are for some connections, and for many.
func overHTTPTargets(s Scale) (targets []experiment.Target) {
	for _, t := range []struct {
		name   string
		bounds [2]float64
	}{
		{inventoryName, [2]float64{0.45, 0.60}},
		{manyName, [2]float64{1.5, 1.5}},
		{embeddedName, [2]float64{0.40, 0.65}},
		{soldOutName, [2]float64{1, 1}},
	} {
		for i, connections := range s.Callers {
			what := fmt.Sprintf("%s, %d connections, in parts of noop", t.name, connections)
			targets = append(targets, atLeast(what, at(t.name, connections), at(noopName, connections), t.bounds[i]))
		}
	}
	return targets
}

const (
	noReplaysName = "inventory, no replays"
	replaysName   = "inventory, 1% replays"
	// onePercent: one request in so many is sent again.
	onePercent = 100
)

// replays compares a sale in which some requests are sent again with one in which none is.
func replays(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	none := site.entrant(stock.Terms{}, noReplaysName, traffic{connections: w.Scale.many()})
	some := site.entrant(stock.Terms{}, replaysName, traffic{connections: w.Scale.many(), again: onePercent})
	none.answers, some.answers = true, true
	return []*entrant{none, some}, nil
}

func replaysTargets(s Scale) []experiment.Target {
	return []experiment.Target{
		atLeast("1% replays, answers in parts of those without", at(replaysName, s.many()), at(noReplaysName, s.many()), 0.90),
	}
}

const (
	plainName = "inventory, plain"
	termsName = "inventory, limit, window and reservations"
	// buyerLimit is how many units one buyer may have, and more than an honest one asks for.
	buyerLimit = 2
	// reserveFor is longer than a case takes: nothing expires under it.
	reserveFor = "15m"
	// saleLasts is how long the window of a sale is open before and after now.
	saleLasts = 24 * time.Hour
)

// underTerms compares the sale of a SKU that asks for nothing with one that counts what each buyer has, is open for a while,
// and is sold as reservations, each to a buyer of its own.
func underTerms(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	many, now := w.Scale.many(), time.Now()
	limited := stock.Terms{PerBuyerLimit: buyerLimit, SaleStartsAt: now.Add(-saleLasts), SaleEndsAt: now.Add(saleLasts)}
	return []*entrant{
		site.entrant(stock.Terms{}, plainName, traffic{connections: many}),
		site.entrant(limited, termsName, traffic{connections: many, buyer: newBuyers, reserveFor: reserveFor}),
	}, nil
}

func termsTargets(s Scale) []experiment.Target {
	return []experiment.Target{
		atLeast("limit, window and reservations, in parts of plain deductions", at(termsName, s.many()), at(plainName, s.many()), 0.80),
	}
}

const (
	aloneName = "inventory, buyers alone"
	botName   = "inventory, a bot beside them"
)

// besideBot compares a sale to buyers who have one order each with the same sale while one buyer more, who has got all that
// the limit allows, goes on asking for the same SKU over connections of its own.
func besideBot(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	limited := stock.Terms{PerBuyerLimit: buyerLimit}
	buyers := traffic{connections: w.Scale.many() - w.Scale.bots(), buyer: newBuyers}
	return []*entrant{
		site.entrant(limited, aloneName, buyers),
		{name: botName, ours: true, callers: buyers.connections, measure: func(ctx context.Context) (round, error) {
			sku, err := site.putUp(ctx, limited)
			if err != nil {
				return round{}, err
			}
			return site.sellBesideBot(ctx, sku, buyers)
		}},
	}, nil
}

// sellBesideBot is the round of the buyers, in which the refusals are the bot's. Its few units are written down, and
// are no part of what the buyers got.
func (s *site) sellBesideBot(ctx context.Context, sku string, buyers traffic) (round, error) {
	greedy := traffic{connections: s.world.Scale.bots(), buyer: uuid.NewString()}
	var bought, taken round
	both, driving := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		bought, err = s.send(driving, sku, buyers)
		return err
	})
	both.Go(func() (err error) {
		taken, err = s.send(driving, sku, greedy)
		return err
	})
	err := both.Wait()
	bought.sku = sku
	s.world.told.Add(sku, taken.counts[load.Accepted], taken.unheard)
	if err == nil {
		err = checkBot(bought, taken)
	}
	bought.counts[load.Refused] += taken.counts[load.Refused]
	return bought, err
}

// checkBot demands that the bot gets what one buyer may have, and that nobody pays for it.
func checkBot(bought, taken round) error {
	if taken.counts[load.Accepted] <= buyerLimit && bought.counts[load.Refused] == 0 {
		return nil
	}
	return fmt.Errorf("a bot got %d units where a buyer may have %d, and %d buyers were refused",
		taken.counts[load.Accepted], buyerLimit, bought.counts[load.Refused])
}

func botTargets(s Scale) []experiment.Target {
	buyers := s.many() - s.bots()
	return []experiment.Target{atLeast("buyers beside a bot, in parts of buyers alone", at(botName, buyers), at(aloneName, buyers), 0.90)}
}

const (
	emptyName   = "inventory, empty table"
	randomName  = "inventory, full table, random ids"
	growingName = "inventory, full table, growing ids"
)

// manyOrders compares the sale of a SKU of which millions have been sold with that of a new one. Each has a database
// of its own; where ids have grown, those of the buyers go on growing.
func manyOrders(ctx context.Context, w *world) (entrants []*entrant, err error) {
	l := traffic{connections: w.Scale.many()}
	empty, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	entrants = append(entrants, empty.entrant(stock.Terms{}, emptyName, l))
	for _, full := range []struct {
		name, fill string
		growing    bool
	}{{randomName, fillRandomSQL, false}, {growingName, fillGrowingSQL, true}} {
		site, sku, err := w.serveFilled(ctx, full.fill)
		if err != nil {
			return nil, err
		}
		l := l
		l.growing = full.growing
		entrants = append(entrants, &entrant{name: full.name, ours: true, callers: l.connections, measure: func(ctx context.Context) (round, error) {
			r, err := site.send(ctx, sku, l)
			r.sku = sku
			return r, err
		}})
	}
	return entrants, nil
}

// serveFilled starts the service on a database in which a SKU has many orders.
func (w *world) serveFilled(ctx context.Context, fill string) (s *site, sku string, err error) {
	databaseURL, err := w.postgres(ctx)
	if err != nil {
		return nil, "", err
	}
	if s, err = w.serveService(ctx, databaseURL, w.URLs.RedisURL); err != nil {
		return nil, "", err
	}
	if sku, err = s.putUp(ctx, stock.Terms{}); err != nil {
		return nil, "", err
	}
	if err := w.fill(ctx, databaseURL, fill, sku); err != nil {
		return nil, "", fmt.Errorf("fill the table of orders: %w", err)
	}
	w.told.Filled(sku, int64(w.Scale.Orders))
	return s, sku, nil
}

// fill adds orders to a SKU, and leaves the table as it is after a while: vacuumed, and with statistics.
func (w *world) fill(ctx context.Context, databaseURL, fill, sku string) error {
	err := servers.Connected(ctx, databaseURL, func(connection *pgx.Conn) error {
		return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, fill, sku, w.Scale.Orders, w.Scale.Segments); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, takeFilledSQL, sku)
			return err
		})
	})
	if err != nil {
		return err
	}
	return servers.Execute(ctx, databaseURL, "VACUUM (ANALYZE) deductions")
}

func manyOrdersTargets(s Scale) []experiment.Target {
	empty := at(emptyName, s.many())
	return []experiment.Target{
		atLeast(fmt.Sprintf("%d orders with random ids, in parts of an empty table", s.Orders), at(randomName, s.many()), empty, 0.75),
		atLeast(fmt.Sprintf("%d orders with growing ids, in parts of an empty table", s.Orders), at(growingName, s.many()), empty, 0.90),
	}
}
