package replay

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inventory/internal/api/client"
	"inventory/internal/busytest"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// shop is a service of a few lines that a test can make misbehave. It records the requests.
type shop struct {
	mu     sync.Mutex
	skus   map[string]*history.SKU
	rows   history.Rows
	orders map[string][]string // of each SKU, in the order of their arrival
	under  map[string]int      // requests under way for each SKU
	errors []string
	// refuse answers an order or a restock instead of the shop, if its status is not 0.
	refuse func(n int) (status int, body any)
	asked  int
}

func newShop() *shop {
	return &shop{
		skus: map[string]*history.SKU{}, orders: map[string][]string{}, under: map[string]int{},
		refuse: func(int) (int, any) { return 0, nil },
	}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sku := strings.Split(r.URL.Path, "/")[3] // of "", v1, skus, SKU, verb
	s.begin(sku)
	status, body := s.answer(sku, r.Body)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone needs no answer
}

func (s *shop) begin(sku string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under[sku]++; s.under[sku] > 1 {
		s.errors = append(s.errors, "two requests at once for "+sku)
	}
}

func (s *shop) answer(sku string, body io.Reader) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under[sku]--
	var q struct { // of a SKU, a restock, or an order
		Stock, Quantity int64
		Ref             string
		Order           string `json:"order_id"`
		Buyer           string `json:"buyer_id"`
	}
	_ = json.NewDecoder(body).Decode(&q) // what is not decoded fails the comparison
	b := s.skus[sku]
	if b == nil {
		s.skus[sku] = &history.SKU{Name: sku, Initial: q.Stock, Available: q.Stock}
		return http.StatusCreated, client.SKU{Sku: sku, Stock: q.Stock}
	}
	s.asked++
	if status, body := s.refuse(s.asked); status != 0 {
		return status, body
	}
	s.orders[sku] = append(s.orders[sku], q.Ref+q.Order)
	switch {
	case q.Ref != "":
		b.Available += q.Quantity
		s.rows.Movements = append(s.rows.Movements, history.Movement{SKU: sku, Ref: q.Ref, Kind: "restock", Quantity: q.Quantity})
		return http.StatusCreated, client.Restock{Ref: q.Ref, Quantity: q.Quantity}
	case b.Available == 0:
		return http.StatusConflict, client.Problem{Code: client.SoldOut}
	case b.Available < q.Quantity:
		return http.StatusConflict, client.Problem{Code: client.InsufficientStock, Available: &b.Available}
	}
	b.Available -= q.Quantity
	s.rows.Deductions = append(s.rows.Deductions, history.Deduction{
		SKU: sku, ID: q.Order, Buyer: q.Buyer, Asked: q.Quantity, Quantity: q.Quantity, State: "committed", Created: time.Now(),
	})
	return http.StatusCreated, client.Deduction{Sku: sku, OrderID: q.Order, Quantity: q.Quantity, Status: client.Committed}
}

const prefix = "run-"

// replayed runs a plan against a shop, and compares the answers with its rows.
func (s *shop) replayed(ctx context.Context, t fataler, plan Plan) (r *Replay, stopped error) {
	server := httptest.NewServer(s)
	defer server.Close()
	services, err := load.Open(load.Config{URLs: []string{server.URL}, Connections: 4, Patience: busytest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	r = newReplay(plan, Settings{Concurrency: 4, Patience: 30 * time.Millisecond, Progress: io.Discard})
	r.Prefix, r.Services = "", services // the rows are the shop's
	r.Environment.Add("target", "a shop")
	r.Promise = history.Promise{Stocks: map[string]history.Stock{}, AnswerWithin: busytest.Patience, Staleness: time.Second}
	stopped = r.Drill.Play(ctx, r.run)
	for _, sku := range s.skus {
		s.rows.SKUs = append(s.rows.SKUs, *sku)
	}
	r.Judge(s.rows, history.Check(r.All.Operations, s.rows, r.Promise))
	r.tell()
	return r, stopped
}

type fataler interface{ Fatal(...any) }

func TestRunSendsOneSKUInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan, err := NewPlan(drawLines(t), rapid.Float64Range(0, 2).Draw(t, "factor"), false, prefix)
		if err != nil {
			t.Fatal(err)
		}
		s := newShop()
		result, err := s.replayed(t.Context(), t, plan)
		orders := map[string][]string{}
		for _, q := range plan.Requests {
			sku := q.Lines[0].SKU
			orders[sku] = append(orders[sku], q.ID)
		}
		for sku, want := range orders {
			if got := s.orders[sku]; strings.Join(got, " ") != strings.Join(want, " ") {
				t.Fatalf("%s: sent %v, want %v", sku, got, want)
			}
		}
		if err != nil || !result.AuditOK() || len(s.errors) > 0 {
			t.Fatalf("stopped: %v; wrong: %q and %q, want nothing", err, result.Wrong, s.errors)
		}
	})
}

func TestRunTellsEveryWrongAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan, err := NewPlan(drawLines(t), 1, false, prefix)
		if err != nil {
			t.Fatal(err)
		}
		s := newShop()
		statuses := rapid.SliceOfN(rapid.SampledFrom([]int{0, 200, 400, 404, 409, 422}), 1, 20).Draw(t, "statuses")
		s.refuse = func(n int) (int, any) { return statuses[n%len(statuses)], client.Problem{Code: client.OrderIDReused} }
		r, err := s.replayed(t.Context(), t, plan)
		counts := r.All.Counts(0, load.Forever)
		bad := counts[load.Refused] > 0 || counts[load.Replayed] > 0
		if err != nil || counts.Answered() != int64(len(plan.Requests)) || bad == r.AuditOK() {
			t.Fatalf("%d of %d requests have an answer; stopped: %v; %v; wrong: %q", counts.Answered(), len(plan.Requests), err, counts, r.Wrong)
		}
	})
}

func TestRunGivesUpALostService(t *testing.T) {
	t.Parallel()
	plan, err := NewPlan(linesOf(t, "1 10001 1\n2 10001 1\n3 10001 1\n4 10001 1\n4 10001 1"), 1, false, prefix)
	if err != nil {
		t.Fatal(err)
	}
	s := newShop()
	s.refuse = func(n int) (int, any) {
		if n < 2 {
			return 0, nil
		}
		return http.StatusServiceUnavailable, client.Problem{Code: client.Unavailable, Detail: "gone"}
	}
	r, stopped := s.replayed(t.Context(), t, plan)
	if stopped == nil || !strings.Contains(stopped.Error(), "deduct 2, SKU run-10001: no final answer") || len(s.orders["run-10001"]) != 1 {
		t.Errorf("stopped: %v, orders %v; want it to be stopped by order 2", stopped, s.orders)
	}
	if c := r.All.Counts(0, load.Forever); c[load.Accepted] != 1 || c[load.Failed] != 1 || c[load.NotSent] != 2 || r.AuditOK() {
		t.Errorf("got %v, want one that was accepted and one failure; the others were not sent", c)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	plan, err := NewPlan(linesOf(t, "1 10001 1\n2 10001 1\n3 10002 1"), 1, false, prefix)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newShop()
	s.refuse = func(int) (int, any) { cancel(why); return 0, nil }
	r, err := s.replayed(ctx, t, plan)
	if !errors.Is(err, why) || err.Error() != "the replay was stopped: enough" {
		t.Errorf("ended with %v, want the cause of the end", err)
	}
	// The shop has accepted the order before, even if its caller got no answer.
	if c := r.All.Counts(0, load.Forever); !r.Interrupted || !r.AuditOK() || c[load.NotSent] == 0 {
		t.Errorf("interrupted: %t, want true; %v, want some that were not sent; wrong: %q, want nothing", r.Interrupted, c, r.Wrong)
	}
}
