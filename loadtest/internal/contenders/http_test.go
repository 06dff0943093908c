package contenders

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

// shelf answers as the service does, and keeps the ids that it was sent.
type shelf struct {
	t      *testing.T
	mutex  sync.Mutex
	known  map[string]bool
	stock  int
	status int // of all answers; 0: as the service would
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut { // a SKU is put up for sale
		w.WriteHeader(http.StatusCreated)
		return
	}
	type body struct {
		SKU        string `json:"sku"`
		OrderID    string `json:"order_id"`
		Quantity   int    `json:"quantity"`
		Lines      []body `json:"lines"`
		Deductions []body `json:"deductions"`
	}
	var b body
	err := json.NewDecoder(r.Body).Decode(&b)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	orders := append(b.Deductions, b)
	if len(b.Deductions) > 0 {
		orders = b.Deductions
	}
	status := http.StatusCreated
	for _, o := range orders {
		if _, idErr := uuid.Parse(o.OrderID); err != nil || idErr != nil || o.Quantity != 1 && len(o.Lines) != fewLines {
			s.t.Errorf("%s was sent %+v, %v", r.URL.Path, b, err)
		}
		switch {
		case s.known[o.OrderID]:
			status = http.StatusOK
		case len(s.known) >= s.stock:
			status = http.StatusConflict
		default:
			s.known[o.OrderID] = true
		}
	}
	if len(b.Deductions) > 0 {
		status = http.StatusOK
	}
	if s.status > 0 {
		status = s.status
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, `{"code":"sold_out","results":[`, strings.Repeat(`{"status":201,"deduction":{}},`, len(b.Deductions)), `]}`)
}

// visit is a site that is a shelf.
func visit(t *testing.T, stock int) (*site, *shelf) {
	t.Helper()
	shelf := &shelf{t: t, known: map[string]bool{}, stock: stock}
	server := httptest.NewServer(shelf)
	w := &world{scale: scaleOf(experiment.Tiny), expected: history.Expected{}}
	s := &site{world: w}
	if err := s.connect(server.URL, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return s, shelf
}

func TestSiteHearsWhatWasSold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sell func(s *site) load.Seller
		each int64 // orders of a request
	}{
		"orders":      {func(s *site) load.Seller { return s.one }, 1},
		"many orders": {func(s *site) load.Seller { return s.together }, manySize},
		"baskets": {func(s *site) load.Seller {
			return func(ctx context.Context, o load.Order) (load.Outcome, error) { return s.buy(ctx, o.ID, "a", "b", "c") }
		}, 1},
	} {
		s, shelf := visit(t, stock.MaxStock)
		r, err := (&entrant{sku: "hot", callers: 4, sell: c.sell(s)}).round(t.Context(), 30*time.Millisecond)
		if n := r.Counts[load.Accepted] * c.each; err != nil || n == 0 || n != int64(len(shelf.known)) {
			t.Errorf("%s: heard of %d, want %d; %v", name, n, len(shelf.known), err)
		}
	}
}

func TestSoldOutSiteKnowsItsWinners(t *testing.T) {
	t.Parallel()
	s, shelf := visit(t, scaleOf(experiment.Tiny).units)
	gone, err := s.soldOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone.callers = 4
	r, err := gone.round(t.Context(), 30*time.Millisecond)
	replayed, refused := r.Counts[load.Replayed], r.Counts[load.Refused]
	off := refused - (winnersReturn-1)*replayed // of requests in a row; each caller may have one that began before the round
	if err != nil || replayed == 0 || max(off, -off) > int64(winnersReturn*(1+gone.callers)) {
		t.Errorf("%d replayed, %d refused, %v, want one of %d replayed", replayed, refused, err, winnersReturn)
	}
	clear(shelf.known) // it forgets the winners
	if _, err := gone.round(t.Context(), 30*time.Millisecond); err == nil || !strings.Contains(err.Error(), "winners were not answered 200") {
		t.Error(err)
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	t.Parallel()
	s, shelf := visit(t, 1)
	shelf.status = http.StatusServiceUnavailable
	for _, sell := range []load.Seller{s.one, s.together} {
		if _, err := (&entrant{sku: "hot", callers: 1, sell: sell}).round(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "503") {
			t.Error(err)
		}
	}
}

// newWorld is one on servers of its own.
func newWorld(t *testing.T) *world {
	t.Helper()
	private, err := servers.Open(t.Context(), servers.URLs{}, servers.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Config: Config{Config: experiment.Config{URLs: private.URLs}}, scale: scaleOf(experiment.Tiny), expected: history.Expected{}}
	w.OnClose(private.Close)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// TestServicesAskForKeys: the services measured over HTTP require a key.
func TestServicesAskForKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.serve(t.Context(), "", w.URLs.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.create(t.Context(), "hot"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.buy(t.Context(), uuid.NewString(), "hot"); err != nil || got != load.Accepted {
		t.Errorf("with the key: %v, %v", got, err)
	}
	if err := s.connect(s.URLs[0], ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.buy(t.Context(), uuid.NewString(), "hot"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a key: %v", err)
	}
	if err := s.create(t.Context(), "another"); err == nil {
		t.Error("a SKU was made without a key")
	}
}
