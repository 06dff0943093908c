package contenders

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

var (
	//go:embed take.sql
	takeSQL string
	//go:embed take_unlocked.sql
	takeUnlockedSQL string
	//go:embed take_units.sql
	takeUnitsSQL string
	//go:embed insert_order.sql
	insertOrderSQL string
)

// The names of designs that others are compared with.
const (
	inventoryName = "inventory"
	textbookName  = "textbook segments"
	bareName      = "bare transaction"
)

// design is a way to sell.
type design struct {
	name string
	ours bool
	// open makes a shop of this design for some callers at once.
	open func(ctx context.Context, m *market, callers int) (shop, error)
}

// shop is a design at work.
type shop struct {
	prepare func(ctx context.Context, sku string) error // puts a SKU up for sale
	sell    load.Seller
	// after is called after each round of a SKU; nil: nothing is to be done.
	after func(ctx context.Context, sku string) error
}

// designs sell one hot SKU inside the process. Those of others are described in reference books and blogs.
func designs() []design {
	return append([]design{
		statement("one row, no lock", 1, (*market).take),
		locked("one Redis lock, "+kinds.BSM, kinds.BSM, 1, (*market).take),
		locked("one Redis lock, "+kinds.Redsync, kinds.Redsync, 1, (*market).take),
		locked(textbookName, kinds.Signal, 0, (*market).takeInSteps),
		locked(textbookName+", one statement", kinds.Signal, 0, (*market).take),
		statement("segment rows, no locks", 0, (*market).take),
		statement("segment rows, SKIP LOCKED", 0, (*market).takeUnlocked),
		luaStream(),
	}, inventories()...)
}

// postgresConnections are the connections of the peers: two or three for each row, so that the next commit is under way while
// one is synced.
const postgresConnections = 32

// market is where designs sell inside the process: one database of the service's schema, one Redis.
type market struct {
	world       *world
	databaseURL string
	pool        *pgxpool.Pool // of the peers
	service     *selling.Service
}

// openMarket opens what all designs share.
func openMarket(ctx context.Context, w *world, peersConnections int) (m *market, err error) {
	m = &market{world: w}
	if m.databaseURL, err = w.postgres(ctx); err != nil {
		return nil, err
	}
	if m.service, err = m.start(ctx, app.Config{DatabaseURL: m.databaseURL, RedisURL: w.URLs.RedisURL}); err != nil {
		return nil, err
	}
	m.pool, err = m.connect(ctx, peersConnections)
	return m, err
}

// connect opens a pool.
func (m *market) connect(ctx context.Context, connections int) (*pgxpool.Pool, error) {
	pool, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: servers.URLs{DatabaseURL: m.databaseURL}, Connections: connections})
	if err == nil {
		m.world.OnClose(func() error { pool.Close(); return nil })
	}
	return pool, err
}

// start starts the service as the product does, with its metrics.
func (m *market) start(ctx context.Context, config app.Config) (*selling.Service, error) {
	service, err := app.Start(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	m.world.OnClose(func() error { return service.Close(context.WithoutCancel(ctx)) })
	return service.Service(), nil
}

// hot is a SKU that will not be sold out.
func hot(sku string, segments int) stock.NewSKU {
	return stock.NewSKU{SKU: sku, Stock: stock.MaxStock, Segments: segments}
}

// segments is the number of a SKU's segments: the design's own, or the usual one.
func (m *market) segments(own int) int {
	if own > 0 {
		return own
	}
	return m.world.Scale.Segments
}

// create puts a SKU of some segments up for sale. Peers sell the rows of the service, so one audit is for all.
func (m *market) create(segments int) func(ctx context.Context, sku string) error {
	return func(ctx context.Context, sku string) error {
		_, _, err := m.service.CreateSKU(ctx, hot(sku, m.segments(segments)))
		return err
	}
}

// warmUp is how long a shop sells before it is measured.
const warmUp = 20 * time.Millisecond

// entrant opens a shop and warms it up.
func (m *market) entrant(ctx context.Context, d design, callers int) (*entrant, error) {
	s, err := d.open(ctx, m, callers)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", d.name, err)
	}
	e := &entrant{name: d.name, ours: d.ours, callers: callers}
	e.measure = func(ctx context.Context) (round, error) { return s.round(ctx, callers, m.world.Scale.Window) }
	warm, err := s.round(ctx, callers, warmUp)
	if warm.sku != "" {
		m.world.expected.Add(warm.sku, warm.counts[load.Accepted], warm.unanswered)
	}
	if err != nil { // and not the whole case
		e.measure = func(context.Context) (round, error) { return round{}, fmt.Errorf("warm up: %w", err) }
	}
	return e, nil
}

// round sells a fresh SKU.
func (s shop) round(ctx context.Context, callers int, window time.Duration) (round, error) {
	sku := servers.NewName("hot-")
	if err := s.prepare(ctx, sku); err != nil {
		return round{}, fmt.Errorf("put a SKU up for sale: %w", err)
	}
	sold, err := load.Buy(ctx, sku, callers, 0, window, s.sell)
	if s.after != nil {
		err = errors.Join(err, s.after(context.WithoutCancel(ctx), sku)) // it is for the audit
	}
	return roundOf(sold, sku), err
}

// taker takes an order's unit from a segment.
type taker func(m *market, ctx context.Context, o load.Order, segment int) (load.Outcome, error)

// statement takes units from segments by chance, with no lock but the row's own.
func statement(name string, segments int, take taker) design {
	return design{name: name, open: func(_ context.Context, m *market, _ int) (shop, error) {
		return shop{prepare: m.create(segments), sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
			return take(m, ctx, o, rand.IntN(m.segments(segments)))
		}}, nil
	}}
}

const (
	// lease is longer than any hold.
	lease = 30 * time.Second
	// triesPerMillisecond is for all waiters together that poll: a free lock is taken soon, and Redis has time for its holder.
	triesPerMillisecond = 6
)

// pauseOf is how long each of some waiters stays away between its tries.
func pauseOf(waiters int) time.Duration {
	return max(time.Duration(waiters)*time.Millisecond/triesPerMillisecond, time.Millisecond)
}

// locked takes units under a lock of some kind for each segment.
func locked(name, kind string, segments int, take taker) design {
	return design{name: name, open: func(ctx context.Context, m *market, callers int) (shop, error) {
		s := kinds.Setting{URLs: m.world.URLs, Timing: kinds.Timing{Lease: lease, Poll: pauseOf(callers)}, Connections: callers}
		if kind == kinds.Signal {
			s.Poll = lease // a release wakes a waiter
		}
		client, err := kinds.These(s.URLs, kind)[0].Open(ctx, s)
		if err != nil {
			return shop{}, err
		}
		m.world.OnClose(client.Close)
		return shop{prepare: m.create(segments), sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
			segment := rand.IntN(m.segments(segments))
			return underLock(ctx, client.Lock(fmt.Sprintf("contenders/%s/%d", o.SKU, segment)), o, func() (load.Outcome, error) {
				return take(m, ctx, o, segment)
			})
		}}, nil
	}}
}

// underLock takes an order's unit under a lock. Waits for it end with the window.
func underLock(ctx context.Context, lock kinds.Lock, o load.Order, take func() (load.Outcome, error)) (became load.Outcome, err error) {
	waiting, cancel := context.WithDeadline(ctx, o.End)
	defer cancel()
	hold, err := lock.Lock(waiting)
	switch {
	case err != nil && !time.Now().Before(o.End):
		return load.GaveUp, nil
	case err != nil:
		return load.Refused, fmt.Errorf("lock: %w", err)
	}
	became, err = take()
	return became, errors.Join(err, hold.Unlock(ctx))
}

// take takes an order's unit from a segment in one statement.
func (m *market) take(ctx context.Context, o load.Order, segment int) (load.Outcome, error) {
	return inserted(m.pool.Exec(ctx, takeSQL, o.SKU, segment, o.ID))
}

// takeUnlocked takes it from a segment whose row is not locked, and refuses if there is none.
func (m *market) takeUnlocked(ctx context.Context, o load.Order, _ int) (load.Outcome, error) {
	return inserted(m.pool.Exec(ctx, takeUnlockedSQL, o.SKU, o.ID))
}

// takeInSteps takes it in a transaction of two statements.
func (m *market) takeInSteps(ctx context.Context, o load.Order, segment int) (became load.Outcome, err error) {
	err = pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		if became, err = inserted(tx.Exec(ctx, takeUnitsSQL, o.SKU, segment)); err != nil || became == load.Refused {
			return err
		}
		_, err = tx.Exec(ctx, insertOrderSQL, o.SKU, segment, o.ID)
		return err
	})
	return became, err
}

// inserted is the outcome of a statement that writes an order, or nothing.
func inserted(tag pgconn.CommandTag, err error) (load.Outcome, error) {
	if err != nil || tag.RowsAffected() == 0 {
		return load.Refused, err
	}
	return load.Accepted, nil
}

// bareTransaction is BEGIN, INSERT, UPDATE, COMMIT over one connection.
func bareTransaction() design {
	return design{name: bareName, open: func(ctx context.Context, m *market, _ int) (shop, error) {
		connection, err := pgx.Connect(ctx, m.databaseURL)
		if err != nil {
			return shop{}, fmt.Errorf("reach PostgreSQL: %w", err)
		}
		m.world.OnClose(func() error { return connection.Close(context.WithoutCancel(ctx)) })
		return shop{prepare: m.create(1), sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
			return load.Accepted, pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, insertOrderSQL, o.SKU, 0, o.ID); err != nil {
					return err
				}
				took, err := inserted(tx.Exec(ctx, takeUnitsSQL, o.SKU, 0))
				if err == nil && took == load.Refused {
					err = errors.New("nothing is left")
				}
				return err
			})
		}}, nil
	}}
}

// inventories are this repository's service: on PostgreSQL and Redis; under the guard of the database alone; and on a SQLite
// file with synchronous=FULL, with a Redis inside the process.
func inventories() []design {
	return []design{
		inventory(inventoryName, nil),
		inventory("inventory no locks", func(_ *world, c *app.Config) error {
			c.RedisURL, c.Lock = "", app.LockNone
			return nil
		}),
		inventory("inventory embedded", func(w *world, c *app.Config) (err error) {
			c.RedisURL = app.Embedded
			c.DatabaseURL, err = w.sqlite()
			return err
		}),
	}
}

// inventory is the service in another configuration than the market's; nil: in that.
func inventory(name string, change func(w *world, c *app.Config) error) design {
	return design{name: name, ours: true, open: func(ctx context.Context, m *market, _ int) (shop, error) {
		service := m.service
		if change != nil {
			c := app.Config{DatabaseURL: m.databaseURL, RedisURL: m.world.URLs.RedisURL}
			err := change(m.world, &c)
			if err == nil {
				service, err = m.start(ctx, c)
			}
			if err != nil {
				return shop{}, err
			}
		}
		return shop{sell: load.Through(service), prepare: func(ctx context.Context, sku string) error {
			_, _, err := service.CreateSKU(ctx, hot(sku, m.segments(0)))
			return err
		}}, nil
	}}
}
