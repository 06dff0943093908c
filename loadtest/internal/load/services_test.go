package load

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/history"
)

// TestMain does not wait for the goroutines of fasthttp that close idle connections: they sleep, and end when there are none.
func TestMain(m *testing.M) {
	busytest.Main(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"))
}

// send sends a load to a service, however late.
func send(t *testing.T, c Config, at []time.Duration, operations []history.Operation) *Result {
	t.Helper()
	c.MaxLag, c.Patience = busytest.Patience, busytest.Patience
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.Run(t.Context(), Load{Start: time.Now(), At: at, Operations: operations})
}

// recorder answers everything, and keeps the requests.
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

// TestRequests records what arrives of an operation of each kind.
func TestRequests(t *testing.T) {
	t.Parallel()
	to := &recorder{got: map[string]int{}}
	server := httptest.NewServer(to)
	defer server.Close()
	one, two := []history.Line{{SKU: "a", Quantity: 2}}, []history.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 1}}
	operations := []history.Operation{
		{Kind: history.Deduct, ID: `o"1`, Buyer: "ann", Lines: one},
		{Kind: history.Deduct, ID: "o2", Lines: one, ReserveFor: 90 * time.Second},
		{Kind: history.Order, ID: "o3", Buyer: "ann", Lines: two},
		{Kind: history.Commit, ID: "o/2", Lines: one},
		{Kind: history.Commit, ID: "o2", Lines: one, Retake: true},
		{Kind: history.Cancel, ID: "o2", Lines: []history.Line{{SKU: "a"}}},
		{Kind: history.Cancel, ID: "o2", Lines: one, Ref: "c1"},
		{Kind: history.Return, ID: "o2", Lines: one, Ref: "b1", WriteOff: true},
		{Kind: history.Return, ID: "o3", Lines: []history.Line{{SKU: "a"}, {SKU: "b"}}},
		{Kind: history.Extend, ID: "o3", Lines: two, Ref: "e1", ReserveFor: time.Second},
		{Kind: history.Change, ID: "o3", Lines: one, Ref: "d1", Hands: "bob", WriteOff: true},
		{Kind: history.Commit, ID: "o3", Lines: one, Only: true, Retake: true},
		{Kind: history.Read, ID: "o3", Lines: two},
		{Kind: history.Restock, ID: "r1", Lines: one},
		{Kind: history.Resegment, ID: "r3", Lines: []history.Line{{SKU: "a", Quantity: 8}}},
		{Kind: history.Read, ID: "o2", Lines: one},
		{Kind: history.Look, Lines: one},
	}
	r := send(t, Config{URLs: []string{server.URL + "/base/"}, Key: "secret", Connections: 3}, make([]time.Duration, len(operations)), operations)
	if c := r.Counts(0, Forever); c[Accepted] != int64(len(operations)) {
		t.Errorf("%v, %v", c, r.FirstError(Unreached, Unknown))
	}
	want := map[string]int{
		`POST /base/v1/skus/a/deductions Bearer secret {"order_id":"o\"1","buyer_id":"ann","quantity":2}`:                                   1,
		`POST /base/v1/skus/a/deductions Bearer secret {"order_id":"o2","quantity":2,"reserve_for":"1m30s"}`:                                1,
		`POST /base/v1/orders Bearer secret {"order_id":"o3","buyer_id":"ann","lines":[{"sku":"a","quantity":2},{"sku":"b","quantity":1}]}`: 1,
		`POST /base/v1/skus/a/deductions/o%2F2/commit Bearer secret `:                                                                       1,
		`POST /base/v1/skus/a/deductions/o2/commit Bearer secret {"if_ended":"retake"}`:                                                     1,
		`POST /base/v1/skus/a/deductions/o2/cancel Bearer secret `:                                                                          1,
		`POST /base/v1/skus/a/deductions/o2/cancel Bearer secret {"ref":"c1","quantity":2}`:                                                 1,
		`POST /base/v1/skus/a/deductions/o2/return Bearer secret {"ref":"b1","quantity":2,"restock":false}`:                                 1,
		`POST /base/v1/orders/o3/return Bearer secret {}`:                                                                                   1,
		`POST /base/v1/orders/o3/extend Bearer secret {"ref":"e1","reserve_for":"1s"}`:                                                      1,
		`POST /base/v1/orders/o3/change Bearer secret {"buyer_id":"bob","ref":"d1","lines":[{"sku":"a","quantity":2}],"restock":false}`:     1,
		`POST /base/v1/orders/o3/commit Bearer secret {"lines":[{"sku":"a","quantity":2}],"if_ended":"retake"}`:                             1,
		`GET /base/v1/orders/o3 Bearer secret `:                                                                                             1,
		`POST /base/v1/skus/a/restock Bearer secret {"ref":"r1","quantity":2}`:                                                              1,
		`POST /base/v1/skus/a/resegment Bearer secret {"ref":"r3","segments":8}`:                                                            1,
		`GET /base/v1/skus/a/deductions/o2 Bearer secret `:                                                                                  1,
		`GET /base/v1/skus/a Bearer secret `:                                                                                                1,
	}
	if !maps.Equal(to.got, want) {
		t.Errorf("got  %v\nwant %v", to.got, want)
	}
}

func TestAnswersAndTheirOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   Outcome
		answer history.Answer
	}{
		{
			201, `{"quantity":3,"status":"reserved","expires_at":"2026-01-02T03:04:05Z"}`, Accepted,
			history.Answer{State: "reserved", Quantity: 3, Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		},
		{
			201, `{"order_id":"o","lines":[{"sku":"a","quantity":3,"status":"committed"},{"sku":"b","quantity":4,"status":"returned"}]}`, Accepted,
			history.Answer{Quantity: 7, States: history.States{"a": "committed", "b": "returned"}},
		},
		{200, `{}`, Replayed, history.Answer{}},
		{409, `{"type":"x","code":"sold_out","status":409}`, SoldOut, history.Answer{Code: "sold_out"}},
		{409, `{"code":"insufficient_stock"}`, InsufficientStock, history.Answer{Code: "insufficient_stock"}},
		{409, `{"code":"buyer_limit"}`, BuyerLimit, history.Answer{Code: "buyer_limit"}},
		{409, `{"code":"sale_closed"}`, SaleClosed, history.Answer{Code: "sale_closed"}},
		{409, `{"status":409,"code":"order_ended","order_status":"expired","quantity":2}`, Refused, history.Answer{Code: "order_ended", State: "expired", Quantity: 2}},
		{
			409, `{"status":409,"code":"not_reserved","order_status":"expired","quantity":2,"lines":[{"sku":"b","code":"not_reserved","order_status":"expired","quantity":2}]}`, Refused,
			history.Answer{Code: "not_reserved", Quantity: 2, States: history.States{"b": "expired"}},
		},
		{409, `{"code":"sku_exists"}`, Refused, history.Answer{Code: "sku_exists"}},
		{503, `{"code":"overloaded"}`, Overloaded, history.Answer{Code: "overloaded"}},
		{503, `{"code":"unavailable"}`, Failed, history.Answer{Code: "unavailable"}},
		{429, `{"code":"rate_limited"}`, Refused, history.Answer{Code: "rate_limited"}},
		{404, `not found`, Refused, history.Answer{}},
		{500, ``, Failed, history.Answer{}},
		{302, ``, Failed, history.Answer{}},
	} {
		c.answer.Status = c.status
		got := newAnswer(c.status, []byte(c.body))
		if outcome := OutcomeOf(history.Attempt{Answer: got}); !reflect.DeepEqual(got, c.answer) || outcome != c.want {
			t.Errorf("%d %s: %v, %+v", c.status, c.body, outcome, got)
		}
	}
}

func TestAServiceThatGoesAwayIsUnreached(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&recorder{got: map[string]int{}})
	server.Close()
	at := Times(1, Even, []Phase{{"", 1000, 20 * ms}})
	r := send(t, Config{URLs: []string{server.URL}, Connections: 2}, at, orders(len(at)))
	if counts := r.Counts(0, Forever); counts[Unreached] != 20 || r.FirstError(Unreached) == nil || !r.Operations[0].Attempts[0].NotSent {
		t.Errorf("%v, %v", counts, r.FirstError(Unreached))
	}
}

func TestInvalidAddressIsAnErrorWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{}, {URLs: []string{"ftp://me:secret@h"}}, {URLs: []string{"http://me:secret@h:%zz"}}, {URLs: []string{"http://h"}, Key: "secret\r\n"}} {
		if s, err := Open(c); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %v, %v", c, s, err)
		}
	}
}

func TestWithAPasswordAndConnectionsThatEnd(t *testing.T) {
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
	url := "http://me:secret@" + strings.TrimPrefix(server.URL, "http://")
	r := send(t, Config{URLs: []string{url}, Connections: 1}, []time.Duration{ms, 2 * ms, 3 * ms}, orders(3))
	if c := r.Counts(0, Forever); c[Accepted] != 3 {
		t.Errorf("%v, %v", c, r.FirstError(Refused, Unknown))
	}
}

// TestAskGoesOnUntilTheAnswerIsFinal: no answer, a failure, a refusal that may not be final, and one that is.
func TestAskGoesOnUntilTheAnswerIsFinal(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		asked := 0
		s := &Services{
			Config: Config{
				URLs: []string{"one", "other"}, URL: func(int) string { return "" }, Patience: time.Second, Promise: history.Promise{AnswerWithin: time.Second},
			},
			ask: func(_ string, _ Request, hangUp time.Time, _ bool) (int, []byte, error) {
				switch asked++; asked {
				case 1:
					time.Sleep(time.Until(hangUp))
					return 0, nil, errors.New("no answer")
				case 2:
					return http.StatusServiceUnavailable, nil, nil
				default:
					return http.StatusConflict, []byte(`{"code":"sold_out"}`), nil
				}
			},
		}
		o := orders(1)[0]
		answer, err := s.Ask(t.Context(), &o, Persistence{Silent: true, Pause: func() time.Duration { return ms }})
		var path string
		for _, a := range o.Attempts {
			path += fmt.Sprintf("%d:%d ", a.Process, a.Answer.Status)
		}
		last := o.Attempts[len(o.Attempts)-1]
		if err != nil || answer.Code != "sold_out" || path != "0:0 1:503 0:409 1:409 " || last.Sent.Before(o.Attempts[1].Ended.Add(time.Second)) {
			t.Errorf("%v, %+v, %s", err, answer, path)
		}
	})
}

// TestCallersHangUp sends an order to a service that answers when its caller has hung up.
func TestCallersHangUp(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the caller hangs up
		<-r.Context().Done()
	}))
	defer server.Close()
	s, err := Open(Config{URLs: []string{server.URL}, Patience: 50 * ms})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if a := s.try(0, NewRequest(&orders(1)[0]), true); a.Err == nil || a.NotSent || a.Ended.Before(a.Deadline) {
		t.Errorf("%+v", a)
	}
}
