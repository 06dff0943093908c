package contenders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
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
	limit    int            // orders of one buyer; 0: any number
	buyers   map[string]int // how many orders each has sent that is named
	reserved map[string]int // how many orders were to be reserved for that long
	wrong    int64          // requests that no buyer sends
	replayed int64
	refused  int64
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var o struct {
		OrderID    string `json:"order_id"`
		BuyerID    string `json:"buyer_id"`
		Quantity   int    `json:"quantity"`
		ReserveFor string `json:"reserve_for"`
	}
	err := json.NewDecoder(r.Body).Decode(&o)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, idErr := uuid.Parse(o.OrderID); err != nil || idErr != nil || o.Quantity != 1 || r.URL.Path != "/v1/skus/hot/deductions" ||
		r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "Bearer "+shelfKey {
		s.wrong++
	}
	s.buyers[o.BuyerID]++
	s.reserved[o.ReserveFor]++
	status, body := http.StatusCreated, "{}"
	switch {
	case s.known[o.OrderID]:
		status = http.StatusOK
		s.replayed++
	case s.soldOut:
		status, body = http.StatusConflict, `{"code":"sold_out"}`
		s.refused++
	case s.limit > 0 && s.buyers[o.BuyerID] > s.limit:
		status, body = http.StatusConflict, `{"code":"buyer_limit"}`
		s.refused++
	default:
		s.known[o.OrderID] = true
		s.ids = append(s.ids, o.OrderID)
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body) // a caller that has gone does not receive it
}

// generators are the generators on this machine: the lab's own always is.
func generators(t *testing.T) []generator {
	t.Helper()
	all := []generator{labClient{}}
	if program, err := exec.LookPath("wrk"); err == nil {
		all = append(all, wrk{program})
	}
	return all
}

// drive lets a generator send a load to a shelf, and compares what both have counted.
func drive(t *testing.T, g generator, s *shelf, l traffic) round {
	t.Helper()
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.buyers, s.reserved = map[string]int{}, map[string]int{}
	before := int64(len(s.ids))
	server := httptest.NewServer(s)
	l.url, l.key, l.window = server.URL+"/v1/skus/hot/deductions", shelfKey, 50*time.Millisecond
	r, err := g.drive(t.Context(), l)
	server.Close() // waits for what is in flight
	if err != nil {
		t.Fatalf("%s: %v", g.name(), err)
	}
	for what, pair := range map[string][2]int64{
		"accepted": {r.counts[load.Accepted], int64(len(s.ids)) - before}, "replayed": {r.counts[load.Replayed], s.replayed},
		"refused": {r.counts[load.Refused], s.refused},
	} {
		if pair[1] < pair[0] || pair[1] > pair[0]+r.unanswered {
			t.Errorf("%s: %s: heard %d, and there were %d; %d not heard", g.name(), what, pair[0], pair[1], r.unanswered)
		}
	}
	if s.wrong > 0 || r.unanswered > int64(l.connections) || r.took <= 0 || r.p99 < r.p50 || r.p50 <= 0 {
		t.Errorf("%s: %d requests are wrong: %+v", g.name(), s.wrong, r)
	}
	return r
}

func TestGeneratorsCountWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, g := range generators(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			if r := drive(t, g, &shelf{}, traffic{connections: 4}); r.counts[load.Accepted] == 0 || r.counts[load.Replayed]+r.counts[load.Refused] > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestGeneratorsSendWinnersAgain(t *testing.T) {
	t.Parallel()
	winners := []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	for _, g := range generators(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			s := &shelf{soldOut: true, known: map[string]bool{}}
			for _, id := range winners {
				s.known[id] = true
			}
			r := drive(t, g, s, traffic{connections: 4, again: winnersReturn, winners: winners})
			if err := check(r); err != nil || r.counts[load.Replayed] == 0 {
				t.Errorf("%v: %+v", err, r)
			}
			all := r.counts[load.Replayed] + r.counts[load.Refused] + r.unanswered
			if r.repeated > all/winnersReturn || r.repeated < all/winnersReturn-4 {
				t.Errorf("%d of %d are winners", r.repeated, all)
			}
		})
	}
}

// TestGeneratorsNameBuyers: each buyer is another one and comes once, or all of them are the same.
func TestGeneratorsNameBuyers(t *testing.T) {
	t.Parallel()
	for _, g := range generators(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			honest := &shelf{limit: 1}
			r := drive(t, g, honest, traffic{connections: 4, buyer: newBuyers, reserveFor: reserveFor})
			if r.counts[load.Accepted] == 0 || r.counts[load.Refused] > 0 || honest.buyers[""] > 0 || len(honest.reserved) != 1 || honest.reserved[reserveFor] == 0 {
				t.Errorf("%+v, reserved %v", r, honest.reserved)
			}
			one := &shelf{limit: 2}
			r = drive(t, g, one, traffic{connections: 4, buyer: "ann"})
			if r.counts[load.Accepted] > 2 || r.counts[load.Refused] == 0 || len(one.buyers) != 1 || one.buyers["ann"] == 0 || len(one.reserved) != 1 || one.reserved[""] == 0 {
				t.Errorf("%+v, buyers %v, reserved %v", r, one.buyers, one.reserved)
			}
			plain := &shelf{}
			drive(t, g, plain, traffic{connections: 4})
			if len(plain.buyers) != 1 || plain.buyers[""] == 0 {
				t.Errorf("%d buyers are named", len(plain.buyers))
			}
		})
	}
}

func TestGeneratorsRepeatThemselves(t *testing.T) {
	t.Parallel()
	for _, g := range generators(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			if r := drive(t, g, &shelf{}, traffic{connections: 4, again: 5}); r.counts[load.Replayed] == 0 && r.counts[load.Accepted] > 5000 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestIDsGrow: over one connection they come in the order in which they were made. wrk's threads are two.
func TestIDsGrow(t *testing.T) {
	t.Parallel()
	for _, g := range generators(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			s := &shelf{}
			drive(t, g, s, traffic{connections: 2, growing: true})
			first, last := s.ids[0], s.ids[len(s.ids)-1]
			if id, err := uuid.Parse(last); err != nil || id.Version() != 7 || last <= first || slices.Max(s.ids) > last[:8]+"z" {
				t.Errorf("%v: from %s to %s", err, first, last)
			}
			var falls int
			for i := range s.ids[1:] {
				if s.ids[i+1] < s.ids[i] {
					falls++
				}
			}
			if falls > len(s.ids)*3/4 {
				t.Errorf("%d of %d ids are less than the one before", falls, len(s.ids))
			}
		})
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	t.Parallel()
	for _, g := range generators(t) {
		for name, answer := range map[string]http.HandlerFunc{
			"unavailable": func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "no \"luck\"", http.StatusServiceUnavailable)
			},
			"not sold out": func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"code":"insufficient_stock"}`, http.StatusConflict)
			},
		} {
			t.Run(g.name()+", "+name, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(answer)
				defer server.Close()
				_, err := g.drive(t.Context(), traffic{url: server.URL + "/v1/skus/hot/deductions", connections: 2, window: 20 * time.Millisecond})
				if err == nil || !strings.Contains(err.Error(), "50") && !strings.Contains(err.Error(), "409") {
					t.Error(err)
				}
			})
		}
	}
}

// TestGeneratorsChooseSKUs: all of them, and more often those that are in the list more often.
func TestGeneratorsChooseSKUs(t *testing.T) {
	t.Parallel()
	for _, g := range generators(t) {
		t.Run(g.name(), func(t *testing.T) {
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
			r, err := g.drive(t.Context(), l)
			server.Close()
			a, b := int64(asked["/v1/skus/a/deductions"]), int64(asked["/v1/skus/b/deductions"])
			if err != nil || len(asked) != 2 || r.counts[load.Accepted] == 0 || a <= b || a+b < r.counts[load.Accepted] {
				t.Errorf("%v, %v, %+v", err, asked, r)
			}
		})
	}
}

func TestWithoutWrkTheLabSends(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if g, err := chooseGenerator(""); err != nil || g != (labClient{}) {
		t.Error(g, err)
	}
	if g, err := chooseGenerator(GeneratorLab); err != nil || g != (labClient{}) {
		t.Error(g, err)
	}
	for name, says := range map[string]string{GeneratorWrk: "--generator wrk", "ab": `no generator "ab"`} {
		if _, err := chooseGenerator(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatWrkSays(t *testing.T) {
	t.Parallel()
	const good = `"sent":100,"accepted":60,"replayed":10,"refused":20,"microseconds":2000000,"p50_us":1500,"p99_us":9000`
	for name, c := range map[string]struct{ line, fails string }{
		"all is well":     {good, ""},
		"a wrong answer":  {good + `,"wrong":3,"first_wrong":"500 oh"`, "3 of 100 answers are wrong, one is: 500 oh"},
		"a lost answer":   {good + `,"timeouts":2`, "2 answers took more"},
		"no connection":   {good + `,"connect_errors":4`, "4 connections were not made"},
		"a broken number": {`"sent":x`, "understand wrk"},
	} {
		said, err := readWrk("Running 1s test\nresult {" + c.line + "}\nmore\n")
		var r round
		if err == nil {
			r, err = said.round()
		}
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if c.fails == "" && (r.unanswered != 10 || r.took != 2*time.Second || r.p50 != 1500*time.Microsecond || r.counts[load.Refused] != 20) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if _, err := readWrk("wrk: not today"); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Error(err)
	}
}

// Orders that go together are counted one by one, and have ids of their own.
func TestGeneratorsSendOrdersTogether(t *testing.T) {
	t.Parallel()
	for _, g := range generators(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			var mutex sync.Mutex
			known := make(map[string]bool)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body struct {
					Deductions []struct {
						SKU      string `json:"sku"`
						OrderID  string `json:"order_id"`
						Quantity int    `json:"quantity"`
					} `json:"deductions"`
				}
				err := json.NewDecoder(r.Body).Decode(&body)
				mutex.Lock()
				defer mutex.Unlock()
				for _, o := range body.Deductions {
					if _, idErr := uuid.Parse(o.OrderID); idErr != nil || o.SKU != "hot" || o.Quantity != 1 || known[o.OrderID] {
						t.Errorf("a wrong order: %+v", o)
					}
					known[o.OrderID] = true
				}
				if err != nil || len(body.Deductions) != 5 || r.Header.Get("Authorization") != "Bearer "+shelfKey {
					t.Errorf("a wrong request: %v, %d orders, %v", err, len(body.Deductions), r.Header)
				}
				_, _ = fmt.Fprint(w, `{"results":[`+strings.Repeat(`{"status":201,"deduction":{}},`, 4)+`{"status":201,"deduction":{}}]}`)
			}))
			l := traffic{url: server.URL + "/v1/deductions", sku: "hot", together: 5, key: shelfKey, connections: 4, window: 50 * time.Millisecond}
			r, err := g.drive(t.Context(), l)
			server.Close()
			heard, sent := r.counts[load.Accepted], int64(len(known))
			if err != nil || heard == 0 || heard%5 != 0 || sent < heard || sent > heard+r.unanswered || r.unanswered > 5*4 {
				t.Errorf("heard of %d, sent %d, %+v, %v", heard, sent, r, err)
			}
		})
	}
}
