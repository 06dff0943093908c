package openloop

import (
	"context"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// send sends a load to a service over so many connections.
func send(t *testing.T, c Config, at []time.Duration, stream Stream) Result {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.Run(t.Context(), Load{Start: time.Now(), At: at, Stream: stream})
}

// recorder answers everything, and keeps what it was asked.
type recorder struct {
	mu  sync.Mutex
	got map[string]int
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got[request.Method+" "+request.RequestURI+" "+request.Header.Get("Authorization")+" "+string(body)]++
	w.WriteHeader(http.StatusCreated)
}

// TestASeedIsAStream records what arrives: it is the same, byte for byte, for one seed, and other orders for another.
func TestASeedIsAStream(t *testing.T) {
	t.Parallel()
	record := func(seed uint64) map[string]int {
		to := &recorder{got: map[string]int{}}
		server := httptest.NewServer(to)
		defer server.Close()
		at := Times(seed, Poisson, []Phase{{"", 1000, 3000, 300 * ms}})
		orders := NewOrders(OrdersConfig{
			Seed: seed, SKU: "hot", Least: 1, Most: 5, Retries: func(int) float64 { return 0.3 },
		}, len(at))
		r := send(t, Config{URLs: []string{server.URL + "/base/"}, Key: "secret", Connections: 8, MaxLag: time.Minute}, at, orders)
		if c := r.All(); c[Accepted] != int64(len(at)) {
			t.Fatalf("of %d: %v, %v", len(at), c, r.FirstError)
		}
		return to.got
	}
	first, again, other := record(11), record(11), record(12)
	if !maps.Equal(first, again) {
		t.Error("one seed, two streams")
	}
	for request := range other {
		if first[request] > 0 {
			t.Errorf("two seeds send %s", request)
		}
		if !strings.HasPrefix(request, `POST /base/v1/skus/hot/deductions Bearer secret {"order_id":"`) {
			t.Fatalf("sent %q", request)
		}
	}
}

// stalling answers at once, but stands still for the first 100 ms of each second. What comes then waits.
type stalling struct{ start time.Time }

func (s *stalling) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if into := time.Since(s.start) % time.Second; into < 100*ms {
		time.Sleep(100*ms - into)
	}
	w.WriteHeader(http.StatusCreated)
}

// TestAStallIsInTheOpenLoopsP99 measures a service that stands still for a tenth of the time, open loop and closed loop.
// A tenth of the planned requests come while it stands still, and wait for 50 ms in the mean, so p99 is near 90 ms. A
// closed loop of one caller is held up once a second, and is quick thousands of times, so its p99 knows nothing of it.
func TestAStallIsInTheOpenLoopsP99(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&stalling{time.Now()})
	defer server.Close()
	at := Times(1, Poisson, []Phase{{"", 200, 200, 3 * time.Second}})
	orders := NewOrders(OrdersConfig{Seed: 1, SKU: "hot", Least: 1, Most: 1}, len(at))
	r := send(t, Config{URLs: []string{server.URL}, Connections: 64}, at, orders)
	open := r.Latencies(Accepted).Quantile(99)

	s, err := Open(t.Context(), Config{URLs: []string{server.URL}, Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begun := make([]time.Duration, 200_000) // all due at once, so the only connection sends one after the other
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	s.config.MaxLag = time.Minute
	loop := s.Run(ctx, Load{Start: time.Now(), At: begun, Stream: NewOrders(OrdersConfig{SKU: "hot", Least: 1, Most: 1}, len(begun))})
	closed := loop.ServiceTimes(Accepted).Quantile(99)

	t.Logf("p99 of %d requests: %v open loop; of %d: %v closed loop", len(at), open, loop.All()[Accepted], closed)
	if open < 70*ms {
		t.Errorf("the open loop's p99 is %v: it hides the stall", open)
	}
	if closed > open/2 {
		t.Errorf("the closed loop's p99 is %v, the open loop's %v: the closed loop does not hide the stall", closed, open)
	}
}

// TestAServiceThatAnswersNothingMoreIsReported has it fall silent after 20 answers.
func TestAServiceThatAnswersNothingMoreIsReported(t *testing.T) {
	t.Parallel()
	silence := make(chan struct{})
	turn := make(chan struct{}, 20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case turn <- struct{}{}:
			w.WriteHeader(http.StatusCreated)
		default:
			<-silence
		}
	}))
	defer server.Close()
	defer close(silence) // before the server waits for its handlers
	at := Times(1, Even, []Phase{{"", 100, 100, time.Second}})
	orders := NewOrders(OrdersConfig{Seed: 1, SKU: "hot", Least: 1, Most: 1}, len(at))
	c := Config{URLs: []string{server.URL}, Connections: 4, MaxLag: 100 * ms, Patience: 400 * ms}
	r := send(t, c, at, orders)
	counts := r.All()
	all, own := r.Lags()
	t.Logf("%v; lag p99 %v, own %v; %v", counts, all.Quantile(99), own.Quantile(99), r.FirstError)
	if counts[Accepted] != 20 || counts[Unknown] < 4 || counts[Dropped] < 30 || counts.Sent()+counts[Dropped] != 100 {
		t.Errorf("counts: %v", counts)
	}
	if all.Quantile(99) < 10*ms || all.Max() > 101*ms {
		t.Errorf("lag up to %v", all.Max())
	}
	if r.FirstError == nil {
		t.Error("nobody says why")
	}
}

func TestAServiceThatGoesAwayIsUnreached(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&recorder{got: map[string]int{}})
	s, err := Open(t.Context(), Config{URLs: []string{server.URL}, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server.Close()
	at := Times(1, Even, []Phase{{"", 1000, 1000, 20 * ms}})
	orders := NewOrders(OrdersConfig{Seed: 1, SKU: "hot", Least: 1, Most: 1}, len(at))
	c := s.Run(t.Context(), Load{Start: time.Now(), At: at, Stream: orders})
	// What went into connections that were closed at the other end is unknown, once each.
	if counts := c.All(); counts[Unreached] < 18 || counts[Unreached]+counts[Unknown] != 20 || c.FirstError == nil {
		t.Errorf("%v, %v", counts, c.FirstError)
	}
}

func TestNobodyThereIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://me:secret@" + listener.Addr().String()
	listener.Close()
	for _, c := range []Config{{URLs: []string{url}}, {}, {URLs: []string{"ftp://me:secret@h"}}, {URLs: []string{url}, Key: "secret\r\n"}} {
		if s, err := Open(t.Context(), c); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v, %v", c, s, err)
		}
	}
}

func TestOverTLSAndWithAPassword(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); !ok || name != "me" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	at := []time.Duration{ms, 2 * ms, 3 * ms}
	orders := NewOrders(OrdersConfig{Seed: 1, SKU: "hot", Least: 1, Most: 1}, len(at))
	url := "http://me:secret@" + strings.TrimPrefix(server.URL, "http://")
	r := send(t, Config{URLs: []string{url}, Connections: 1}, at, orders)
	if c := r.All(); c[Accepted] != 3 {
		t.Errorf("%v, %v", c, r.FirstError)
	}
	secure := httptest.NewUnstartedServer(&recorder{got: map[string]int{}})
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of the connection that is given up
	secure.StartTLS()
	defer secure.Close()
	_, err := Open(t.Context(), Config{URLs: []string{secure.URL}, Connections: 1})
	if err == nil || !strings.Contains(err.Error(), "certificate") { // that of the test is nobody's
		t.Errorf("%v", err)
	}
}

func TestLiveTellsOfWhatWasHeardSince(t *testing.T) {
	t.Parallel()
	l := NewLive([]time.Duration{ms, 2 * ms})
	l.Heard(0, Reply{Sent: ms, Over: 5 * ms, Outcome: Accepted})
	l.Heard(1, Reply{Over: 9 * ms, Outcome: Dropped})
	counts, p99 := l.Take()
	if counts != (Counts{Accepted: 1, Dropped: 1}) || (p99-4*ms).Abs() > 10*time.Microsecond {
		t.Errorf("%v, %v", counts, p99)
	}
	if counts, p99 = l.Take(); counts != (Counts{}) || p99 != 0 {
		t.Errorf("then %v, %v", counts, p99)
	}
}
