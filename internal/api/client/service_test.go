package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// newShop returns the URL of a service that gives orders the answers of a function.
func newShop(t *testing.T, answer func() (status int, contentType string, body any)) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer k" || r.Header.Get("Request-Deadline") == "" {
			t.Errorf("authorized by %q, with the deadline %q", got, r.Header.Get("Request-Deadline"))
		}
		status, contentType, body := answer()
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func deduct(t *testing.T, patience time.Duration, url string) Answer[Deduction] {
	t.Helper()
	s, err := NewService(url, 8, patience, WithKey("k"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	answer, err := s.Deduct(t.Context(), "a", NewDeduction{OrderID: "o", Quantity: 1})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestServiceIsAskedAgainUntilItsAnswerIsFinal(t *testing.T) {
	var requests atomic.Int64
	url := newShop(t, func() (int, string, any) {
		if requests.Add(1) < 3 {
			return http.StatusServiceUnavailable, "application/problem+json", Problem{Title: "t", Status: 503}
		}
		return http.StatusCreated, "application/json", Deduction{OrderID: "o"}
	})
	if a := deduct(t, busytest.Patience, url); a.Status != http.StatusCreated || a.Body == nil || a.Body.OrderID != "o" || requests.Load() != 3 {
		t.Errorf("got %+v after %d requests, want 201 for the order o after 3", a, requests.Load())
	}
}

func TestServiceReturnsTheLastProblemWhenItsPatienceEnds(t *testing.T) {
	url := newShop(t, func() (int, string, any) {
		return http.StatusServiceUnavailable, "application/problem+json", Problem{Title: "t", Status: 503}
	})
	if a := deduct(t, 30*time.Millisecond, url); a.Status != http.StatusServiceUnavailable || a.Problem == nil {
		t.Errorf("got %+v, want 503 with its problem", a)
	}
}

func TestARefusalIsFinal(t *testing.T) {
	var requests atomic.Int64
	url := newShop(t, func() (int, string, any) {
		requests.Add(1)
		return http.StatusConflict, "application/problem+json", Problem{Title: "t", Status: 409, Code: SoldOut, Final: true}
	})
	if a := deduct(t, busytest.Patience, url); a.OK() || a.Problem == nil || a.Problem.Code != SoldOut || requests.Load() != 1 {
		t.Errorf("got %+v after %d requests, want sold_out after 1", a, requests.Load())
	}
}

// TestRequestWithoutAnAnswerIsSentAgain: proxies answer in the place of the service.
func TestRequestWithoutAnAnswerIsSentAgain(t *testing.T) {
	for name, other := range map[string]struct {
		status int
		media  string
		body   any
	}{
		"502":             {502, "text/html", "<html>"},
		"504":             {504, "text/plain", "upstream timed out"},
		"429":             {429, "application/problem+json", Problem{Title: "t", Status: 429}},
		"408":             {408, "application/problem+json", Problem{Title: "t", Status: 408}},
		"a page":          {200, "text/html", "<html>"},
		"another's JSON":  {404, "application/json", Problem{Status: 404, Code: UnknownSku, Final: true}},
		"another problem": {409, "application/problem+json", Problem{Title: "conflict", Status: 409}},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			url := newShop(t, func() (int, string, any) {
				if requests.Add(1) < 3 {
					return other.status, other.media, other.body
				}
				return http.StatusCreated, "application/json; charset=UTF-8", Deduction{OrderID: "o"}
			})
			if a := deduct(t, busytest.Patience, url); a.Status != http.StatusCreated || a.Body == nil || requests.Load() != 3 {
				t.Errorf("got %+v after %d requests, want 201 after 3", a, requests.Load())
			}
		})
	}
}

// TestWrongKeyIsToldAtOnce: it says nothing about earlier attempts, so it is not final, but it does not change by itself.
func TestWrongKeyIsToldAtOnce(t *testing.T) {
	var requests atomic.Int64
	url := newShop(t, func() (int, string, any) {
		requests.Add(1)
		return http.StatusUnauthorized, "application/problem+json", Problem{Title: "t", Status: 401, Code: Unauthenticated}
	})
	if a := deduct(t, busytest.Patience, url); a.OK() || a.Problem == nil || requests.Load() != 1 {
		t.Errorf("got %+v after %d requests, want 401 after 1", a, requests.Load())
	}
}

// TestRedirectIsNotFollowed: a PUT would become a GET, and the key would go elsewhere. The error names the target.
func TestRedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer target.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var requests atomic.Int64
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			http.Redirect(w, r, target.URL+r.URL.Path, status)
		}))
		s, err := NewService(proxy.URL, 1, busytest.Patience, WithKey("k"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.CreateSKU(t.Context(), "a", NewSKU{Stock: 1})
		if err == nil || !strings.Contains(err.Error(), target.URL+"/v1/skus/a") || followed.Load() != 0 || requests.Load() != 1 {
			t.Errorf("%d: got %+v, %v, %d requests and %d followed; want an error with the target", status, answer, err, requests.Load(), followed.Load())
		}
		s.Close()
		proxy.Close()
	}
}
