package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop accepts every order except those of the SKU "none", which it does not know, and "bad", which is not a valid SKU.
// It holds requests until hold lets them go on.
type shop struct {
	*testing.T
	url  string
	hold chan struct{} // nil: no request waits

	mu       sync.Mutex
	requests []string // their order ids, separated by commas
	last     *http.Request
	alone    int // of them
	fail     int // that many of the next requests get 503
	limit    int // orders of a request; 0: any number
}

func newShop(t *testing.T) *shop {
	s := &shop{T: t}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var many NewDeductions
	sku, alone := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/deductions"), "/v1/skus/")
	if alone {
		many.Deductions = []NewSKUDeduction{{Sku: sku}}
		if err := json.NewDecoder(r.Body).Decode(&many.Deductions[0]); err != nil {
			s.Error(err)
		}
	} else if err := json.NewDecoder(r.Body).Decode(&many); err != nil {
		s.Error(err)
	}
	refused := s.note(r, many.Deductions, alone)
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-r.Context().Done():
			return
		}
	}
	if refused != 0 {
		s.send(w, refused, problem(refused, ""))
		return
	}
	var results DeductionResults
	for i, o := range many.Deductions {
		switch o.Sku {
		case "bad":
			field := "sku"
			if !alone {
				field = fmt.Sprintf("deductions[%d].sku", i)
			}
			s.send(w, 400, problem(400, field))
			return
		case "none":
			results.Results = append(results.Results, DeductionResult{Status: 404, Problem: problem(404, "")})
		default:
			results.Results = append(results.Results, DeductionResult{Status: 201, Deduction: &Deduction{Sku: o.Sku, OrderID: o.OrderID, Quantity: o.Quantity}})
		}
	}
	one := results.Results[0]
	switch {
	case !alone:
		s.send(w, 200, results)
	case one.Problem != nil:
		s.send(w, one.Status, one.Problem)
	default:
		s.send(w, one.Status, one.Deduction)
	}
}

// note records a request, and returns the status of its refusal; 0 for none.
func (s *shop) note(r *http.Request, orders []NewSKUDeduction, alone bool) (refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, o := range orders {
		ids = append(ids, o.OrderID)
	}
	s.requests = append(s.requests, strings.Join(ids, ","))
	s.last = r
	if alone {
		s.alone++
	}
	switch {
	case s.fail > 0:
		s.fail--
		return 503
	case s.limit > 0 && len(orders) > s.limit:
		return 413
	default:
		return 0
	}
}

func problem(status int, field string) *Problem {
	p := &Problem{Type: "t", Title: "t", Status: status, Code: InvalidRequest}
	if field != "" {
		p.Field, p.Detail = &field, field+" is wrong"
	}
	return p
}

func (s *shop) send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	if status >= 400 {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.Log(err) // its caller has left
	}
}

// waitFor waits until that many requests have come.
func (s *shop) waitFor(requests int) {
	s.Helper()
	for range 1000 {
		s.mu.Lock()
		came := len(s.requests)
		s.mu.Unlock()
		if came >= requests {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.Fatal("the requests do not come")
}

func newFleet(t *testing.T, g Gather, shops ...*shop) *Fleet {
	t.Helper()
	var urls []string
	for _, s := range shops {
		urls = append(urls, s.url)
	}
	f, err := NewFleet(urls, 8, 10*time.Second, WithKey("k"), g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// ask lets callers order at the same time, the i-th one with order id "i" of SKU sku(i), and returns their answers.
func ask(t *testing.T, f *Fleet, callers int, sku func(i int) string) []Answer[Deduction] {
	t.Helper()
	answers := make([]Answer[Deduction], callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			a, err := f.Deduct(t.Context(), sku(i), NewDeduction{OrderID: fmt.Sprint(i), Quantity: int64(i + 1)})
			if err != nil {
				t.Errorf("order %d: %v", i, err)
			}
			answers[i] = a
		})
	}
	wg.Wait()
	return answers
}

// gatheredAre waits until that many orders wait in the gatherers of a fleet.
func gatheredAre(t *testing.T, f *Fleet, orders int) {
	t.Helper()
	for range 1000 {
		waiting := 0
		for _, p := range f.processes {
			p.gatherer.mu.Lock()
			waiting += len(p.gatherer.waiting)
			p.gatherer.mu.Unlock()
		}
		if waiting == orders {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%d orders do not come together", orders)
}

func TestGatherIsOneRequest(t *testing.T) {
	s := newShop(t)
	s.hold = make(chan struct{})
	f := newFleet(t, Gather{Requests: 1, Orders: 30}, s)
	var wg sync.WaitGroup
	wg.Go(func() { ask(t, f, 1, func(int) string { return "first" }) })
	s.waitFor(1)
	wg.Go(func() {
		answers := ask(t, f, 50, func(i int) string { return []string{"a", "b", "none"}[i%3] })
		for i, a := range answers {
			switch {
			case i%3 == 2 && (a.Status != 404 || a.Problem == nil || a.OK()):
				t.Errorf("order %d: %+v", i, a)
			case i%3 < 2 && (a.Status != 201 || a.Body.OrderID != fmt.Sprint(i) || a.Body.Quantity != int64(i+1)):
				t.Errorf("order %d: %+v", i, a)
			}
		}
	})
	gatheredAre(t, f, 50)
	close(s.hold)
	wg.Wait()
	if len(s.requests) != 3 || s.alone != 1 || strings.Count(s.requests[1], ",") != 29 || strings.Count(s.requests[2], ",") != 19 {
		t.Errorf("requests: %q", s.requests)
	}
	if s.last.URL.Path != "/v1/deductions" || s.last.Header.Get("Authorization") != "Bearer k" || s.last.Header.Get("Request-Deadline") == "" {
		t.Errorf("the last request: %s %v", s.last.URL, s.last.Header)
	}
}

func TestGatherOverProcesses(t *testing.T) {
	a, b, c := newShop(t), newShop(t), newShop(t)
	f := newFleet(t, Gather{}, a, b, c)
	for i, answer := range ask(t, f, 90, func(int) string { return "a" }) {
		if answer.Status != 201 {
			t.Errorf("order %d: %+v", i, answer)
		}
	}
	for _, s := range []*shop{a, b, c} {
		if orders := len(strings.Split(strings.Join(s.requests, ","), ",")); orders != 30 {
			t.Errorf("a process got %d orders: %q", orders, s.requests)
		}
	}
}

// If a request is refused as a whole, each of its orders gets its own answer.
func TestGatherAnswersEachForItself(t *testing.T) {
	s := newShop(t)
	s.hold, s.limit = make(chan struct{}), 10
	f := newFleet(t, Gather{Requests: 1}, s)
	var wg sync.WaitGroup
	wg.Go(func() { ask(t, f, 1, func(int) string { return "first" }) })
	s.waitFor(1)
	wg.Go(func() {
		for i, a := range ask(t, f, 40, func(i int) string { return map[bool]string{true: "bad", false: "a"}[i%13 == 0] }) {
			switch {
			case i%13 == 0 && (a.Status != 400 || *a.Problem.Field != "sku"):
				t.Errorf("order %d: %+v", i, a)
			case i%13 > 0 && (a.Status != 201 || a.Body.OrderID != fmt.Sprint(i)):
				t.Errorf("order %d: %+v", i, a)
			}
		}
	})
	gatheredAre(t, f, 40)
	close(s.hold)
	wg.Wait()
}

// If a request fails, it has failed for each of its callers, whose orders are tried again at the next process.
func TestGatherTriesAgain(t *testing.T) {
	bad, good := newShop(t), newShop(t)
	bad.fail = 1 << 30
	f := newFleet(t, Gather{}, bad, good)
	for i, a := range ask(t, f, 40, func(int) string { return "a" }) {
		if a.Status != 201 {
			t.Errorf("order %d: %+v", i, a)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	url := gone.URL
	gone.Close()
	f = newFleet(t, Gather{}, &shop{url: url}, good)
	for i, a := range ask(t, f, 40, func(int) string { return "a" }) {
		if a.Status != 201 {
			t.Errorf("order %d: %+v", i, a)
		}
	}
}

func TestGatherGivesUpAfterPatience(t *testing.T) {
	s := newShop(t)
	s.fail = 1 << 30
	f, err := NewFleet([]string{s.url}, 8, 30*time.Millisecond, Gather{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, a := range ask(t, f, 10, func(int) string { return "a" }) {
		if a.Status != 503 || a.Problem == nil {
			t.Errorf("order %d: %+v", i, a)
		}
	}
}

// The end of a caller's context ends its own wait, and removes its order if it has not been sent. The last caller of a
// request ends the request.
func TestGatherCallersLeave(t *testing.T) {
	s := newShop(t)
	s.hold = make(chan struct{})
	f := newFleet(t, Gather{Requests: 1}, s)
	leaving, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	deduct := func(ctx context.Context, id string, want error) {
		wg.Go(func() {
			a, err := f.Deduct(ctx, "a", NewDeduction{OrderID: id, Quantity: 1})
			if !errors.Is(err, want) || (err == nil) != (a.Status == 201) {
				t.Errorf("%s: %+v, %v", id, a, err)
			}
		})
	}
	deduct(leaving, "first", context.Canceled) // its request is held for ever
	s.waitFor(1)
	deduct(leaving, "second", context.Canceled) // never sent
	deduct(t.Context(), "third", nil)
	gatheredAre(t, f, 2)
	leave()
	s.waitFor(2)
	close(s.hold)
	wg.Wait()
	if s.requests[1] != "third" {
		t.Errorf("requests: %q", s.requests)
	}
}

// A caller that leaves a request with others gets its own error, and the others get their answers.
func TestGatherCallersLeaveOthers(t *testing.T) {
	s := newShop(t)
	s.hold = make(chan struct{})
	f := newFleet(t, Gather{Requests: 1}, s)
	leaving, leave := context.WithCancel(t.Context())
	var stays, leaves sync.WaitGroup
	stays.Go(func() { ask(t, f, 1, func(int) string { return "first" }) })
	s.waitFor(1)
	stays.Go(func() { ask(t, f, 3, func(int) string { return "a" }) })
	leaves.Go(func() {
		if _, err := f.Deduct(leaving, "a", NewDeduction{OrderID: "left", Quantity: 1}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	gatheredAre(t, f, 4)
	s.hold <- struct{}{}
	s.waitFor(2)
	leave()
	leaves.Wait()
	close(s.hold)
	stays.Wait()
	if len(s.requests) != 2 || strings.Count(s.requests[1], ",") != 3 {
		t.Errorf("requests: %q", s.requests)
	}
}

// A hurried caller does not shorten the time of others.
func TestGatherSendsTheHurriedAlone(t *testing.T) {
	s := newShop(t)
	s.hold = make(chan struct{})
	f := newFleet(t, Gather{Requests: 1}, s)
	var wg sync.WaitGroup
	wg.Go(func() { ask(t, f, 1, func(int) string { return "first" }) })
	s.waitFor(1)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	wg.Go(func() {
		if a, err := f.Deduct(ctx, "a", NewDeduction{OrderID: "hurried", Quantity: 1}); err != nil || a.Status != 201 {
			t.Errorf("%+v, %v", a, err)
		}
	})
	s.waitFor(2)
	close(s.hold)
	wg.Wait()
}

func TestGatherEndsWithTheFleet(t *testing.T) {
	s := newShop(t)
	s.hold = make(chan struct{})
	f := newFleet(t, Gather{Requests: 1}, s)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			if a, err := f.Deduct(t.Context(), "a", NewDeduction{OrderID: fmt.Sprint(i), Quantity: 1}); !errors.Is(err, errClosed) {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	s.waitFor(1)
	f.Close()
	wg.Wait()
}
