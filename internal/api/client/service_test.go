package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
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
		return http.StatusConflict, "application/problem+json", Problem{Title: "t", Status: 409, Code: SoldOut}
	})
	if a := deduct(t, busytest.Patience, url); a.OK() || a.Problem == nil || a.Problem.Code != SoldOut || requests.Load() != 1 {
		t.Errorf("got %+v after %d requests, want sold_out after 1", a, requests.Load())
	}
}
