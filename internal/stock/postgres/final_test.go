package postgres_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/faultproxy"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// twoProcesses are services on one database: the network may hold up what the first one sends.
type twoProcesses struct {
	t             *testing.T
	first, second *selling.Service
	network       *faultproxy.Proxy
	held          atomic.Bool // the network takes no new connections either
	url           string
}

// hold holds up everything that the first process sends.
func (w *twoProcesses) hold() {
	w.held.Store(true)
	w.network.Hold()
}

// dials makes new connections of the first process fail while the network is held.
func (w *twoProcesses) dials(c *pgxpool.Config) {
	c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == w.network.Addr() && w.held.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// answerWithin is the bound that the first process has, in a test that waits for it. It is the subject of that test.
const answerWithin = 500 * time.Millisecond

// through returns a database's URL through a proxy, and the proxy.
func through(t *testing.T, databaseURL string) (string, *faultproxy.Proxy) {
	t.Helper()
	proxied, proxy, err := faultproxy.StartBefore(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxied, proxy
}

func openTwo(t *testing.T, within time.Duration) *twoProcesses {
	t.Helper()
	direct, drop, err := server.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	proxied, network := through(t, direct)
	w := &twoProcesses{t: t, network: network, url: direct}
	var closers []func(context.Context) error
	for url, service := range map[string]**selling.Service{proxied: &w.first, direct: &w.second} {
		store, err := postgres.OpenPatiently(t.Context(), url, 4, w.dials)
		if err != nil {
			t.Fatal(err)
		}
		config := selling.Config{Store: store, AnswerWithin: busytest.Patience}
		if url == proxied {
			config.AnswerWithin = within
		}
		s := selling.NewService(config)
		*service = s
		closers = append(closers, func(ctx context.Context) error { return errors.Join(s.Close(ctx), store.Close()) })
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, undo := range closers {
			if err := undo(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := drop(ctx); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := w.second.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Stock: 6, Segments: 2}); err != nil {
		t.Fatal(err)
	}
	// The first process has read the SKU, and has connections. It leaves no segment empty: so it does not look at the levels later.
	for _, id := range []string{"reserved", "committed"} {
		busytest.Soon(t, "the first process sells in its time", func() bool {
			_, _, err := w.first.Deduct(t.Context(), "a", stock.Order{OrderID: id, Quantity: 1, ReserveFor: reserveFor(id)})
			return err == nil
		})
	}
	return w
}

func reserveFor(id string) time.Duration {
	if id == "reserved" {
		return time.Hour
	}
	return 0
}

// attempts are what the first process may be doing when the network holds it up.
func (w *twoProcesses) attempts() map[string]func(s *selling.Service) error {
	deduct := func(quantity int64) func(s *selling.Service) error {
		return func(s *selling.Service) error {
			_, _, err := s.Deduct(w.t.Context(), "a", stock.Order{OrderID: "late", Quantity: quantity})
			return err
		}
	}
	settle := func(wish stock.SettleRequest) func(s *selling.Service) error {
		return func(s *selling.Service) error {
			_, err := s.Settle(w.t.Context(), "a", wish, false)
			return err
		}
	}
	return map[string]func(s *selling.Service) error{
		"deduction": deduct(1),
		"merge":     deduct(4),
		"order": func(s *selling.Service) error {
			_, _, err := s.Order(w.t.Context(), stock.MultiOrder{OrderID: "late", Lines: []stock.Line{{SKU: "a", Quantity: 1}}})
			return err
		},
		"commit": settle(stock.SettleRequest{OrderID: "reserved"}),
		"cancel": settle(stock.SettleRequest{OrderID: "reserved", Verb: stock.Cancel}),
		"return": settle(stock.SettleRequest{OrderID: "committed", Verb: stock.Return, Quantity: 1, Ref: "r"}),
	}
}

// rest waits until nothing runs in the database any more: everything that the network delivered has been carried out.
func (w *twoProcesses) rest() {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close(w.t.Context())
	busytest.Soon(w.t, "nothing runs in the database", func() bool {
		var busy int
		err := conn.QueryRow(w.t.Context(), `
			SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`).Scan(&busy)
		if err != nil {
			w.t.Fatal(err)
		}
		return busy == 0
	})
}

// TestARefusalIsFinal: the network holds up the first attempt, which gets no answer; the next one, through another
// process, is refused. After a restock the network delivers the first attempt: it must not be carried out.
func TestARefusalIsFinal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"deduction", "merge", "order", "commit", "cancel", "return"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := openTwo(t, answerWithin)
			attempt := w.attempts()[name]
			w.hold()
			if err := attempt(w.first); stock.CodeOf(err) != stock.CodeUnavailable && stock.CodeOf(err) != stock.CodeOverloaded {
				t.Fatalf("the first attempt: %v", err)
			}
			if name == "deduction" || name == "merge" || name == "order" {
				w.refusedBeside(attempt)
			}
			w.network.Deliver()
			w.rest()
			for id, want := range map[string]stock.DeductionStatus{"late": "", "reserved": stock.StatusReserved, "committed": stock.StatusCommitted} {
				if d, err := w.second.Deduction(t.Context(), "a", id, ""); d.Status != want {
					t.Errorf("%s is %q, %v, want %q", id, d.Status, err, want)
				}
			}
		})
	}
}

// refusedBeside sells the rest, lets the attempt be refused, and restocks.
func (w *twoProcesses) refusedBeside(attempt func(*selling.Service) error) {
	w.t.Helper()
	if _, _, err := w.second.Deduct(w.t.Context(), "a", stock.Order{OrderID: "other", Quantity: 4}); err != nil {
		w.t.Fatal(err)
	}
	if err := attempt(w.second); stock.CodeOf(err) != stock.CodeSoldOut {
		w.t.Fatalf("the second attempt: %v, want %s", err, stock.CodeSoldOut)
	}
	if _, err := w.second.Move(w.t.Context(), stock.Movement{Kind: stock.Restocked, SKU: "a", Ref: "r", Quantity: 9}); err != nil {
		w.t.Fatal(err)
	}
}

// TestAnAttemptInTimeMayBeCarriedOut: within the bound, a refusal of another attempt is not final, as the document
// says.
func TestAnAttemptInTimeMayBeCarriedOut(t *testing.T) {
	t.Parallel()
	w := openTwo(t, busytest.Patience)
	attempt := w.attempts()["deduction"]
	w.hold()
	answered := make(chan error, 1)
	go func() { answered <- attempt(w.first) }()
	w.refusedBeside(attempt)
	w.network.Deliver()
	if err := <-answered; err != nil {
		t.Fatalf("the first attempt: %v", err)
	}
	if d, err := w.second.Deduction(t.Context(), "a", "late", ""); err != nil || d.Status != stock.StatusCommitted {
		t.Errorf("%+v, %v", d, err)
	}
}
