package stock_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"inventory/internal/locking"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/migrations"
)

// BenchmarkHotSKU measures 64 callers on one SKU of 10 segments, against the design of the textbooks, on one
// PostgreSQL that syncs its commits and one Redis. Each iteration is a pair of rounds; the ratio is the median.
//
//	go test -run '^$' -bench HotSKU -benchtime 5x ./internal/stock
func BenchmarkHotSKU(b *testing.B) {
	ground := newGround(b)
	book, ours := ground.textbook(), ground.service()
	warmUp := func() { ground.round(book, 500); ground.round(ours, 2000) }
	warmUp()
	var ratios, books, inventories []float64
	for b.Loop() {
		slow, fast := ground.round(book, 3000), ground.round(ours, 40000)
		books, inventories, ratios = append(books, slow), append(inventories, fast), append(ratios, fast/slow)
	}
	ground.audit()
	b.ReportMetric(0, "ns/op") // a pair of rounds says nothing by its length
	b.ReportMetric(median(books), "textbook/s")
	b.ReportMetric(median(inventories), "inventory/s")
	b.ReportMetric(median(ratios), "ratio")
}

func median(figures []float64) float64 {
	slices.Sort(figures)
	return figures[len(figures)/2]
}

const (
	callers       = 64
	benchSegments = 10
)

// seller takes one unit for an order.
type seller func(ctx context.Context, orderID string) error

// ground is what both designs run on.
type ground struct {
	*testing.B
	pool  *pgxpool.Pool
	store stock.Store
	redis *redis.Client
}

func newGround(b *testing.B) *ground {
	b.Helper()
	server, err := servertest.StartPostgres(b.Context(), servertest.Durable())
	if err != nil {
		b.Fatal(err)
	}
	url, _, err := server.CreateDatabase(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil || m.Up() != nil || m.Close() != nil {
		b.Fatal(err)
	}
	g := &ground{B: b, redis: redis.NewClient(&redis.Options{Addr: redisServer.Addr(), MaxRetries: -1, PoolSize: callers})}
	if g.store, err = postgres.Open(b.Context(), url, 8); err != nil {
		b.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = callers
	if g.pool, err = pgxpool.NewWithConfig(b.Context(), config); err != nil {
		b.Fatal(err)
	}
	if _, err := g.store.CreateSKU(b.Context(), stock.NewSKU{SKU: sku, Stock: stock.MaxStock, Segments: benchSegments}, time.Now()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		g.pool.Close()
		if err := g.store.Close(); err != nil {
			b.Error(err)
		}
		if err := g.redis.Close(); err != nil {
			b.Error(err)
		}
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	return g
}

// textbook is a Redis lock for each segment, around a conditional UPDATE and an INSERT.
func (g *ground) textbook() seller {
	locks := redislock.New(g.redis)
	return func(ctx context.Context, orderID string) error {
		segment := rand.IntN(benchSegments)
		lock, err := locks.Obtain(ctx, "textbook/"+strconv.Itoa(segment), 5*time.Second, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
		})
		if err != nil {
			return err
		}
		err = pgx.BeginFunc(ctx, g.pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `UPDATE stock_segments SET available = available - 1
				WHERE sku_id = $1 AND segment = $2 AND available >= 1`, sku, segment)
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
				VALUES ($1, $2, 1, $3, 'committed', now())`, sku, orderID, segment)
			return err
		})
		if releaseErr := lock.Release(ctx); err == nil {
			err = releaseErr
		}
		return err
	}
}

// service is this package.
func (g *ground) service() seller {
	locks, err := locking.New(g.redis, locking.WatchdogLease(5*time.Second))
	if err != nil {
		g.Fatal(err)
	}
	s := stock.NewService(stock.Config{Store: g.store, Lock: func(sku string, segment int) locking.Locker {
		return locks.Mutex(sku+"/"+strconv.Itoa(segment), locking.Group(sku))
	}})
	g.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(g.Context())); err != nil {
			g.Error(err)
		}
		if err := locks.Close(); err != nil {
			g.Error(err)
		}
	})
	return func(ctx context.Context, orderID string) error {
		_, _, err := s.Deduct(ctx, sku, stock.Order{OrderID: orderID, Quantity: 1})
		return err
	}
}

// round sells n orders to the callers and returns how many a second.
func (g *ground) round(sell seller, n int64) float64 {
	g.Helper()
	var taken atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range callers {
		wg.Go(func() {
			for taken.Add(1) <= n {
				if err := sell(g.Context(), uuid.NewString()); err != nil {
					g.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(start).Seconds()
}

func (g *ground) audit() {
	g.Helper()
	if audit, err := g.store.Audit(g.Context()); err != nil || !audit.OK() {
		g.Fatalf("audit: %+v, %v", audit, err)
	}
}
