package contenders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inventory/loadtest/internal/load"

	"github.com/google/uuid"
)

const shelfKey = "inv_id_secret"

// shelf answers as the service does, and keeps what it was sent.
type shelf struct {
	mutex    sync.Mutex
	ids      []string // in the order of their sale
	known    map[string]bool
	soldOut  bool
	wrong    int64 // requests that no buyer sends
	replayed int64
	refused  int64
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var o struct {
		OrderID  string `json:"order_id"`
		Quantity int    `json:"quantity"`
	}
	err := json.NewDecoder(r.Body).Decode(&o)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, idErr := uuid.Parse(o.OrderID); err != nil || idErr != nil || o.Quantity != 1 || r.URL.Path != "/v1/skus/hot/deductions" ||
		r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "Bearer "+shelfKey {
		s.wrong++
	}
	status, body := http.StatusCreated, "{}"
	switch {
	case s.known[o.OrderID]:
		status = http.StatusOK
		s.replayed++
	case s.soldOut:
		status, body = http.StatusConflict, `{"code":"sold_out"}`
		s.refused++
	default:
		s.known[o.OrderID] = true
		s.ids = append(s.ids, o.OrderID)
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body) // a caller that has gone does not receive it
}

// driveTo sends a load to a shelf, and compares what both have counted.
func driveTo(t *testing.T, s *shelf, l traffic) round {
	t.Helper()
	if s.known == nil {
		s.known = map[string]bool{}
	}
	server := httptest.NewServer(s)
	l.url, l.key, l.window = server.URL+"/v1/skus/hot/deductions", shelfKey, 50*time.Millisecond
	r, err := drive(t.Context(), l)
	server.Close() // waits for what is in flight
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]int64{
		"accepted": {r.counts[load.Accepted], int64(len(s.ids))}, "replayed": {r.counts[load.Replayed], s.replayed}, "refused": {r.counts[load.Refused], s.refused},
	} {
		if pair[1] != pair[0] {
			t.Errorf("%s: heard %d, and there were %d", what, pair[0], pair[1])
		}
	}
	if s.wrong > 0 || r.unanswered > 0 || r.took <= 0 || r.p99 < r.p50 || r.p50 <= 0 {
		t.Errorf("%d requests are wrong: %+v", s.wrong, r)
	}
	return r
}

func TestTheGeneratorCountsWhatIsThere(t *testing.T) {
	t.Parallel()
	if r := driveTo(t, &shelf{}, traffic{connections: 4}); r.counts[load.Accepted] == 0 || r.counts[load.Replayed]+r.counts[load.Refused] > 0 {
		t.Errorf("%+v", r)
	}
}

func TestTheGeneratorSendsWinnersAgain(t *testing.T) {
	t.Parallel()
	winners := []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	s := &shelf{soldOut: true, known: map[string]bool{}}
	for _, id := range winners {
		s.known[id] = true
	}
	r := driveTo(t, s, traffic{connections: 4, again: winnersReturn, winners: winners})
	if err := check(r); err != nil || r.counts[load.Replayed] == 0 {
		t.Errorf("%v: %+v", err, r)
	}
	if all := r.counts[load.Replayed] + r.counts[load.Refused]; r.repeated != all/winnersReturn {
		t.Errorf("%d of %d are winners", r.repeated, all)
	}
}

// TestIDsGrow: over one connection they come in the order in which they were made.
func TestIDsGrow(t *testing.T) {
	t.Parallel()
	s := &shelf{}
	driveTo(t, s, traffic{connections: 1, growing: true})
	if id, err := uuid.Parse(s.ids[0]); err != nil || id.Version() != 7 || !slices.IsSorted(s.ids) {
		t.Errorf("%v: %q", err, s.ids)
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	t.Parallel()
	for answer, status := range map[string]int{`no "luck"`: http.StatusServiceUnavailable, `{"code":"insufficient_stock"}`: http.StatusConflict} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, answer, status) }))
		_, err := drive(t.Context(), traffic{url: server.URL + "/v1/skus/hot/deductions", connections: 2, window: 20 * time.Millisecond})
		server.Close()
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestTheGeneratorChoosesSKUs: all of them, and more often those that are in the list more often.
func TestTheGeneratorChoosesSKUs(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		asked[r.URL.Path]++
		w.WriteHeader(http.StatusCreated)
	}))
	l := traffic{url: server.URL + "/v1/skus/*/deductions", skus: []string{"a", "b", "a", "a"}, connections: 4, window: 100 * time.Millisecond}
	r, err := drive(t.Context(), l)
	server.Close()
	a, b := int64(asked["/v1/skus/a/deductions"]), int64(asked["/v1/skus/b/deductions"])
	if err != nil || len(asked) != 2 || r.counts[load.Accepted] == 0 || a <= b || a+b != r.counts[load.Accepted] {
		t.Errorf("%v, %v, %+v", err, asked, r)
	}
}

// TestManyOrdersHaveIDsOfTheirOwn: orders that go together are counted one by one, and an order of several SKUs has each once.
func TestManyOrdersHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	type body struct {
		SKU        string `json:"sku"`
		OrderID    string `json:"order_id"`
		Quantity   int    `json:"quantity"`
		Lines      []body `json:"lines"`
		Deductions []body `json:"deductions"`
	}
	var mutex sync.Mutex
	known := make(map[string]bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent body
		err := json.NewDecoder(r.Body).Decode(&sent)
		mutex.Lock()
		defer mutex.Unlock()
		orders := sent.Deductions
		if r.URL.Path == "/v1/orders" {
			orders = []body{sent}
			if skus := map[string]bool{}; len(sent.Lines) == wholeLines {
				for _, line := range sent.Lines {
					skus[line.SKU] = true
				}
				if len(skus) != wholeLines || sent.Lines[0].Quantity != 1 {
					t.Errorf("a wrong order: %+v", sent)
				}
			}
		}
		for _, o := range orders {
			if _, idErr := uuid.Parse(o.OrderID); idErr != nil || known[o.OrderID] || len(o.Lines) == 0 && (o.SKU != "hot" || o.Quantity != 1) {
				t.Errorf("a wrong order: %+v", o)
			}
			known[o.OrderID] = true
		}
		if err != nil || len(orders) != 5 && len(sent.Lines) != wholeLines {
			t.Errorf("a wrong request: %v, %+v", err, sent)
		}
		if len(sent.Lines) > 0 {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = fmt.Fprint(w, `{"results":[`+strings.Repeat(`{"status":201,"deduction":{}},`, 4)+`{"status":201,"deduction":{}}]}`)
	}))
	defer server.Close()
	for path, l := range map[string]traffic{
		"/v1/deductions": {sku: "hot", together: 5}, "/v1/orders": {skus: []string{"a", "b", "c", "d"}, lines: wholeLines},
	} {
		l.url, l.connections, l.window = server.URL+path, 4, 50*time.Millisecond
		before := len(known)
		r, err := drive(t.Context(), l)
		if heard, sent := r.counts[load.Accepted], int64(len(known)-before); err != nil || heard == 0 || heard != sent {
			t.Errorf("%s: heard of %d, sent %d, %+v, %v", path, heard, sent, r, err)
		}
	}
}
