package app_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/faultproxy"
	"inventory/internal/stock"
)

// startLimit is less than a start waits for a connection to PostgreSQL.
const startLimit = time.Second

// emptyDatabase returns the URL of a new database without a schema.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	url, drop, err := postgresServer.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, func() error { return drop(context.WithoutCancel(t.Context())) })
	return url
}

// silent accepts connections and answers nothing. met is closed when there is one.
func silent(t *testing.T) (address string, met chan struct{}) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	met = make(chan struct{})
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for first := true; ; first = false {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if first {
				close(met)
			}
		}
	})
	stopLater(t, func() error {
		defer accepting.Wait()
		return listener.Close()
	})
	return listener.Addr().String(), met
}

// TestAStartEndsWithItsContext, whatever it waits for, and waits for nothing else. A start that a busy machine delays, or that ends
// before it is told to, is tried again.
func TestAStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T) (config app.Config, waits <-chan struct{}){
		"a silent PostgreSQL": func(t *testing.T) (app.Config, <-chan struct{}) {
			address, met := silent(t)
			return app.Config{DatabaseURL: "postgres://u@" + address + "/db?sslmode=disable", Lock: app.LockNone}, met
		},
		"a silent PostgreSQL past a pooler": func(t *testing.T) (app.Config, <-chan struct{}) {
			address, met := silent(t)
			return app.Config{
				DatabaseURL: emptyDatabase(t), DirectURL: "postgres://u@" + address + "/db?sslmode=disable", Lock: app.LockNone,
			}, met
		},
		"a silent Redis": func(t *testing.T) (app.Config, <-chan struct{}) {
			address, met := silent(t)
			return app.Config{DatabaseURL: emptyDatabase(t), RedisURL: "redis+sentinel://" + address + "/main"}, met
		},
		"the lock of migrations": func(t *testing.T) (app.Config, <-chan struct{}) {
			url, log := emptyDatabase(t), &awaited{text: "another process migrates", seen: make(chan struct{})}
			lockMigrations(t, url)
			return app.Config{DatabaseURL: url, Lock: app.LockNone, Logger: slog.New(slog.NewTextHandler(log, nil))}, log.seen
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Soon(t, "the start ends with its context", func() bool { return endsWithItsContext(t, prepare) })
		})
	}
}

// endsWithItsContext starts a service, and ends the context when the start waits.
func endsWithItsContext(t *testing.T, prepare func(*testing.T) (app.Config, <-chan struct{})) bool {
	t.Helper()
	config, waits := prepare(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan error, 1)
	go func() {
		a, err := app.Start(ctx, config)
		if err == nil {
			err = errors.Join(errors.New("it has started"), a.Close(context.WithoutCancel(ctx)))
		}
		over <- err
	}()
	select {
	case <-waits:
	case err := <-over:
		if !isLate(err) {
			t.Fatalf("it did not wait: %v", err)
		}
		return false
	}
	start := time.Now()
	cancel()
	err := busytest.Receive(t, "the end of the start", over)
	soon := time.Since(start) < startLimit
	t.Logf("ended after %v with %v", time.Since(start), err)
	return errors.Is(err, context.Canceled) && soon
}

// lockMigrations takes the lock as another process does that migrates.
func lockMigrations(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_lock(7325064181)`); err != nil {
		t.Fatal(err)
	}
	stopLater(t, func() error { return conn.Close(context.WithoutCancel(t.Context())) })
}

// awaited is a log that says when a text was written to it.
type awaited struct {
	text string
	once sync.Once
	seen chan struct{}
}

func (a *awaited) Write(line []byte) (int, error) {
	if strings.Contains(string(line), a.text) {
		a.once.Do(func() { close(a.seen) })
	}
	return len(line), nil
}

// TestManyStartTogether on an empty database: none finds a migration that nobody has finished. On a schema that is up to date
// none waits for the lock of migrations.
func TestManyStartTogether(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url, log := emptyDatabase(t), &busytest.Log{}
	start := func() {
		a, err := tryStart(t, app.Config{DatabaseURL: url, Lock: app.LockNone, Logger: log.Logger()})
		if err != nil {
			t.Error(err)
			return
		}
		closeNow(t, a)
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(start)
	}
	all.Wait()
	lockMigrations(t, url)
	start()
	if strings.Contains(log.String(), "not finish") {
		t.Errorf("the log warns of a migration:\n%s", log.String())
	}
}

// TestADirectURLIsNotBlamedForMissingRights: where the role of the database URL may not read what the owner has just created, that is
// the reason, and not the direct URL.
func TestADirectURLIsNotBlamedForMissingRights(t *testing.T) {
	t.Parallel()
	owner := emptyDatabase(t)
	conn, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	role := "without_rights_" + strings.ToLower(rand.Text())
	if _, err := conn.Exec(t.Context(), `CREATE ROLE `+role+` LOGIN`); err != nil {
		t.Fatal(err)
	}
	stopLater(t, func() error {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), `DROP ROLE `+role)
		return errors.Join(err, conn.Close(context.WithoutCancel(t.Context())))
	})
	service, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	service.User = url.User(role)
	a, err := tryStart(t, app.Config{DatabaseURL: service.String(), DirectURL: owner, Lock: app.LockNone})
	if err == nil {
		closeNow(t, a)
	}
	if err == nil || !strings.Contains(err.Error(), "permission denied") || strings.Contains(err.Error(), "another database") {
		t.Errorf("got %v, want that a permission is denied", err)
	}
}

// TestAStartWaitsForASlowPostgreSQL: each answer takes 0.2 to 0.6 s. A connection takes several of them, and none is asked again and
// again whether it lives.
func TestAStartWaitsForASlowPostgreSQL(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	direct := emptyDatabase(t)
	if _, err := app.MigrateUp(t.Context(), direct, nil); err != nil {
		t.Fatal(err)
	}
	database, proxy, err := faultproxy.StartBefore(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, proxy.Close)
	proxy.Slow(200 * time.Millisecond)
	log := &awaited{text: "slow or far away", seen: make(chan struct{})}
	a, err := app.Start(t.Context(), app.Config{
		DatabaseURL: database, Lock: app.LockNone, AnswerWithin: busytest.Patience, DrainTimeout: busytest.Patience,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, a) })
	busytest.Receive(t, "a warning of the round trip", log.seen)
	done := func(err error) bool { // a read that needs a new connection may not end in its time: then the call is sent again
		if err != nil && stock.CodeOf(err) != stock.CodeUnavailable {
			t.Fatal(err)
		}
		return err == nil
	}
	busytest.Soon(t, "a SKU is created", func() bool {
		_, _, err := a.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: "slow", Stock: 1, Segments: 1})
		return done(err)
	})
	busytest.Soon(t, "a unit is sold", func() bool {
		_, _, err := a.Service().Deduct(t.Context(), "slow", stock.Order{OrderID: "o", Quantity: 1})
		return done(err)
	})
	proxy.Slow(0)
}
