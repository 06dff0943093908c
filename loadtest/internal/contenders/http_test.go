package contenders

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

// shelf answers as the service does, and keeps the ids that it was sent.
type shelf struct {
	mutex  sync.Mutex
	known  map[string]bool
	stock  int
	status int // of all answers; 0: as the service would
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var order struct {
		ID string `json:"order_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&order)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	status := http.StatusCreated
	switch {
	case s.status > 0:
		status = s.status
	case r.Method == http.MethodPut: // a SKU is put up for sale
	case s.known[order.ID]:
		status = http.StatusOK
	case len(s.known) >= s.stock:
		status = http.StatusConflict
	default:
		s.known[order.ID] = true
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"code":"sold_out"}`)
}

// visit is a site that is a shelf.
func visit(t *testing.T, stock int) (*site, *shelf) {
	t.Helper()
	shelf := &shelf{known: map[string]bool{}, stock: stock}
	server := httptest.NewServer(shelf)
	w := &world{scale: scaleOf(experiment.Tiny), expected: history.Expected{}}
	s := &site{world: w}
	if err := s.connect(load.Config{URLs: []string{server.URL}}); err != nil {
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

func TestSoldOutSiteKnowsItsWinners(t *testing.T) {
	t.Parallel()
	s, shelf := visit(t, scaleOf(experiment.Tiny).units)
	gone, err := s.soldOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone.callers = 4
	var r sold
	busytest.Soon(t, "a winner asks again within a round", func() bool {
		r, err = gone.round(t.Context(), 30*time.Millisecond)
		return err != nil || r.Counts[load.Replayed] > 0
	})
	replayed, refused := r.Counts[load.Replayed], r.Counts[load.Refused]
	off := refused - (winnersReturn-1)*replayed // of requests in a row; each caller may have one that began before the round
	if err != nil || max(off, -off) > int64(winnersReturn*(1+gone.callers)) {
		t.Errorf("%d replayed, %d refused, %v, want one of %d replayed", replayed, refused, err, winnersReturn)
	}
	clear(shelf.known) // it forgets the winners
	busytest.Soon(t, "a winner is not known any more", func() bool {
		_, err := gone.round(t.Context(), 30*time.Millisecond)
		return err != nil && strings.Contains(err.Error(), "winners were not answered 200")
	})
}

func TestWrongAnswersAreErrors(t *testing.T) {
	t.Parallel()
	s, shelf := visit(t, 1)
	shelf.status = http.StatusServiceUnavailable
	for _, sell := range []load.Seller{s.one, s.together} {
		if _, err := (&entrant{sku: "hot", callers: 1, sell: sell}).round(t.Context(), busytest.Patience); err == nil || !strings.Contains(err.Error(), "503") {
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
	if err := s.connect(load.Config{URLs: s.URLs}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.buy(t.Context(), uuid.NewString(), "hot"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a key: %v", err)
	}
	if err := s.create(t.Context(), "another"); err == nil {
		t.Error("a SKU was made without a key")
	}
}
