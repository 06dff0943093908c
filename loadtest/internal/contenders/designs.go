package contenders

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

var (
	//go:embed take.sql
	takeSQL string
	//go:embed take_units.sql
	takeUnitsSQL string
	//go:embed insert_order.sql
	insertOrderSQL string
	//go:embed luastream.lua
	luaStreamSource string
)

// The names of designs that others are compared with.
const (
	inventoryName = "inventory"
	textbookName  = "textbook segments"
	bareName      = "bare transaction"
	plainSQLName  = "plain SQL, 64 connections"
	luaName       = "Redis Lua DECR + XADD"
)

// design is a way to sell. It makes an entrant for some callers at once.
type design func(ctx context.Context, w *world, callers int) (entrant, error)

// designs sell one hot SKU inside the process. Those of others are described in reference books and blogs.
func designs(segments int) []design {
	return append([]design{
		statement("one row, no lock", 1),
		locked("one Redis lock, "+kinds.BSM, kinds.BSM, 1, (*world).takeOrder),
		locked("one Redis lock, "+kinds.Redsync, kinds.Redsync, 1, (*world).takeOrder),
		locked(textbookName, kinds.SetNX, segments, (*world).takeInSteps),
		statement("segment rows, no locks", segments),
		luaStream(),
	}, inventories()...)
}

// openMarket opens what entrants inside this process share.
func (w *world) openMarket(ctx context.Context, peersConnections int) (err error) {
	if w.databaseURL, err = w.postgres(ctx, history.AuditRows); err != nil {
		return err
	}
	if w.service, err = w.start(ctx, app.Config{DatabaseURL: w.databaseURL, RedisURL: w.URLs.RedisURL}); err != nil {
		return err
	}
	w.pool, err = kinds.OpenPostgres(ctx, kinds.Setting{URLs: servers.URLs{DatabaseURL: w.databaseURL}, Connections: peersConnections})
	if err == nil {
		w.OnClose(func() error { w.pool.Close(); return nil })
	}
	return err
}

// start starts the service as the product does, with its metrics. It has as long to write as the services over HTTP: a slow one is to
// be seen as slow, and not to fail.
func (w *world) start(ctx context.Context, config app.Config) (*selling.Service, error) {
	config.AnswerWithin = target.AnswerWithin
	service, err := app.Start(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	w.OnClose(func() error { return service.Close(context.WithoutCancel(ctx)) })
	return service.Service(), nil
}

// startEmbedded starts it on a SQLite file that is not there yet.
func (w *world) startEmbedded(ctx context.Context) (*selling.Service, error) {
	databaseURL, err := w.sqlite()
	if err != nil {
		return nil, err
	}
	return w.start(ctx, app.Config{DatabaseURL: databaseURL, RedisURL: app.Embedded})
}

// create puts a SKU of some segments up for sale. Peers sell the rows of the service, so one audit is for all.
func create(service *selling.Service, segments int) func(ctx context.Context, sku string) error {
	return func(ctx context.Context, sku string) error {
		_, _, err := service.CreateSKU(ctx, stock.NewSKU{SKU: sku, Stock: stock.MaxStock, Segments: segments})
		return err
	}
}

// taker takes an order's unit from a segment.
type taker func(w *world, ctx context.Context, o load.Order, segment int) (load.Outcome, error)

// statement takes units from segments by chance, with no lock but the row's own.
func statement(name string, segments int) design {
	return func(_ context.Context, w *world, _ int) (entrant, error) {
		return entrant{name: name, prepare: create(w.service, segments), sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
			return w.takeOrder(ctx, o, rand.IntN(segments))
		}}, nil
	}
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
	return func(ctx context.Context, w *world, callers int) (entrant, error) {
		s := kinds.Setting{URLs: w.URLs, Lease: lease, Poll: pauseOf(callers), Connections: callers}
		if kind == kinds.SetNX {
			s.Poll = lease // a release wakes a waiter
		}
		client, err := kinds.Open(ctx, kind, s)
		if err != nil {
			return entrant{}, err
		}
		w.OnClose(client.Close)
		return entrant{name: name, prepare: create(w.service, segments), sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
			segment := rand.IntN(segments)
			return underLock(ctx, client.Lock(fmt.Sprintf("contenders/%s/%d", o.SKU, segment)), o, func() (load.Outcome, error) {
				return take(w, ctx, o, segment)
			})
		}}, nil
	}
}

// underLock takes an order's unit under a lock. Waits for it end with the window.
func underLock(ctx context.Context, lock kinds.Lock, o load.Order, take func() (load.Outcome, error)) (became load.Outcome, err error) {
	waiting, cancel := context.WithDeadline(ctx, o.End)
	defer cancel()
	hold, err := lock(waiting)
	switch {
	case err != nil && !time.Now().Before(o.End):
		return load.GaveUp, nil
	case err != nil:
		return load.Refused, fmt.Errorf("lock: %w", err)
	}
	became, err = take()
	return became, errors.Join(err, hold.Unlock(ctx))
}

// takeOrder takes an order's unit from a segment in one statement.
func (w *world) takeOrder(ctx context.Context, o load.Order, segment int) (load.Outcome, error) {
	return inserted(w.pool.Exec(ctx, takeSQL, o.SKU, segment, o.ID))
}

// takeInSteps takes it in a transaction of two statements.
func (w *world) takeInSteps(ctx context.Context, o load.Order, segment int) (became load.Outcome, err error) {
	err = pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
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
	return func(ctx context.Context, w *world, _ int) (entrant, error) {
		connection, err := pgx.Connect(ctx, w.databaseURL)
		if err != nil {
			return entrant{}, fmt.Errorf("reach PostgreSQL: %w", err)
		}
		w.OnClose(func() error { return connection.Close(context.WithoutCancel(ctx)) })
		return entrant{name: bareName, prepare: create(w.service, 1), sell: func(ctx context.Context, o load.Order) (became load.Outcome, err error) {
			err = pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, insertOrderSQL, o.SKU, 0, o.ID); err != nil {
					return err
				}
				became, err = inserted(tx.Exec(ctx, takeUnitsSQL, o.SKU, 0))
				return err
			})
			return became, err
		}}, nil
	}
}

// inventories are this repository's service: on PostgreSQL and Redis; under the guard of the database alone; and on a SQLite
// file with synchronous=FULL, with a Redis inside the process.
func inventories() []design {
	return []design{
		inventory(inventoryName, func(_ context.Context, w *world) (*selling.Service, error) { return w.service, nil }),
		inventory("inventory no locks", func(ctx context.Context, w *world) (*selling.Service, error) {
			return w.start(ctx, app.Config{DatabaseURL: w.databaseURL, Lock: app.LockNone})
		}),
		inventory(embeddedName, func(ctx context.Context, w *world) (*selling.Service, error) { return w.startEmbedded(ctx) }),
	}
}

func inventory(name string, open func(ctx context.Context, w *world) (*selling.Service, error)) design {
	return func(ctx context.Context, w *world, _ int) (entrant, error) {
		service, err := open(ctx, w)
		return entrant{name: name, sell: load.Through(service), prepare: create(service, w.scale.segments)}, err
	}
}

const redisConnections = 64

// luaStream keeps all of it in Redis, and nothing of it durable. The client sends the commands of all callers together.
func luaStream() design {
	return func(ctx context.Context, w *world, _ int) (entrant, error) {
		client, err := kinds.OpenRedis(ctx, w.URLs.RedisURL, kinds.Setting{Connections: redisConnections})
		if err != nil {
			return entrant{}, err
		}
		w.OnClose(client.Close)
		pipeline, err := client.AutoPipeline()
		if err != nil {
			return entrant{}, fmt.Errorf("open a pipeline: %w", err)
		}
		script, err := client.ScriptLoad(ctx, luaStreamSource).Result()
		if err != nil {
			return entrant{}, fmt.Errorf("load the script: %w", err)
		}
		var over []stock.Balance
		w.audits = append(w.audits, func(context.Context) (stock.Audit, error) { return stock.Audit{SKUs: slices.Clone(over)}, nil })
		keys := func(sku string) []string { return []string{"{" + sku + "}:units", "{" + sku + "}:orders"} }
		return entrant{
			name: luaName,
			prepare: func(ctx context.Context, sku string) error {
				return client.Set(ctx, keys(sku)[0], stock.MaxStock, lease).Err()
			},
			sell: func(ctx context.Context, o load.Order) (load.Outcome, error) {
				took, err := pipeline.EvalSha(ctx, script, keys(o.SKU), o.ID).Int()
				if err != nil || took == 0 {
					return load.Refused, err
				}
				return load.Accepted, nil
			},
			after: func(ctx context.Context, r sold) error { // counts the orders, and removes them: they take memory
				left, err := client.Get(ctx, keys(r.sku)[0]).Int64()
				orders, err2 := client.XLen(ctx, keys(r.sku)[1]).Result()
				if err := errors.Join(err, err2); err != nil {
					return fmt.Errorf("count the orders: %w", err)
				}
				over = append(over, stock.Balance{SKU: r.sku, Initial: stock.MaxStock, Available: left, Committed: orders})
				return client.Unlink(ctx, keys(r.sku)...).Err()
			},
		}, nil
	}
}
