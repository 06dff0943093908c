package tail

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/progress"
	"inventory/internal/stock"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// shop is what all rounds stand on.
type shop struct {
	Config
	databaseURL string
	redisURL    string // several with commas in between for RedLocks
	environment report.Environment
	live        *progress.Live
	begun       time.Time // of the first round
	witness     *witness
	store       stock.Store // to read rows
	closers     []func(context.Context) error
}

// openShop starts or reaches the servers. Whoever opens a shop closes it, also after an error.
func openShop(ctx context.Context, c Config) (*shop, error) {
	s := &shop{Config: c, redisURL: c.RedisURL}
	on, err := servers.Open(ctx, c.URLs)
	if err != nil {
		return s, err
	}
	s.onClose(func(context.Context) error { return on.Stop() })
	if c.RedisURL == "" {
		if s.redisURL, err = s.privateRedis(ctx, on); err != nil {
			return s, err
		}
	}
	if s.environment, err = lookAround(ctx, c, on.DatabaseURL, s.redisURL); err != nil {
		return s, err
	}
	var drop func(context.Context) error
	if s.databaseURL, drop, err = servers.CreateDatabase(ctx, on.DatabaseURL, "tail_"); err != nil {
		return s, err
	}
	if c.DatabaseURL != "" { // a private server goes with all it has
		s.onClose(drop)
	}
	if s.witness, err = openWitness(c.Lock, s.redisURL); err != nil {
		return s, err
	}
	s.onClose(func(context.Context) error { return s.witness.close() })
	return s, nil
}

// privateRedis is one server, or as many as a RedLock needs.
func (s *shop) privateRedis(ctx context.Context, on *servers.Servers) (urls string, err error) {
	const nodes = 3
	urls = on.RedisURL
	for n := 1; n < nodes && s.Lock == app.LockRed; n++ {
		more, err := servers.Open(ctx, servers.URLs{DatabaseURL: on.DatabaseURL})
		if err != nil {
			return "", err
		}
		s.onClose(func(context.Context) error { return more.Stop() })
		urls += "," + more.RedisURL
	}
	return urls, nil
}

func (s *shop) onClose(undo func(context.Context) error) { s.closers = append(s.closers, undo) }

func (s *shop) close(ctx context.Context) error {
	var errs []error
	for _, undo := range slices.Backward(s.closers) {
		errs = append(errs, undo(ctx))
	}
	return errors.Join(errs...)
}

// openStore opens the rows to be read, which a process has to have made first.
func (s *shop) openStore(ctx context.Context) (err error) {
	if s.store != nil {
		return nil
	}
	if s.store, err = app.OpenForReading(ctx, s.databaseURL); err != nil {
		return fmt.Errorf("open the rows: %w", err)
	}
	s.onClose(func(context.Context) error { return s.store.Close() })
	return nil
}

// round sells a SKU to its end. It is sent the same orders whether a holder is killed in it or not.
func (s *shop) round(ctx context.Context, number int, killed bool) (r Round, err error) {
	seed := openloop.SeedOf(s.Seed, fmt.Sprintf("round %d", number+1))
	all, err := s.open(ctx)
	if err != nil {
		return Round{}, err
	}
	defer func() { err = errors.Join(err, all.end()) }()
	if err := s.openStore(ctx); err != nil {
		return Round{}, err
	}
	sku := fmt.Sprintf("tail-%d-%s", number+1, kind(killed))
	if err := s.create(ctx, sku, all); err != nil {
		return Round{}, err
	}
	if err := s.fill(ctx, sku, all, rand.New(randomOf(seed, "fill"))); err != nil {
		return Round{}, err
	}
	view, err := s.known(ctx, sku)
	if err != nil {
		return Round{}, err
	}
	var victim *process
	if killed {
		victim = all[number%len(all)]
	}
	course, err := s.sell(ctx, sku, all, seed, victim)
	if err != nil {
		return Round{}, err
	}
	return s.account(ctx, course, Round{Number: number + 1, Killed: killed, Segments: view.Segments})
}

// kind names the rounds of a kind.
func kind(killed bool) string {
	if killed {
		return "killed"
	}
	return "calm"
}

// create puts a SKU up for sale.
func (s *shop) create(ctx context.Context, sku string, all fleet) error {
	clerk, err := client.NewFleet(all.urls(nil), 1, patience)
	if err != nil {
		return err
	}
	defer clerk.Close()
	answer, err := clerk.CreateSKU(ctx, sku, client.NewSKU{Stock: s.Stock, Segments: &s.Segments})
	if err == nil {
		err = answer.Err()
	}
	if err != nil {
		return fmt.Errorf("put a SKU up for sale: %w", err)
	}
	return nil
}
