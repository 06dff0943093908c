package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newShop returns the URL of a process that gives every order the same answer.
func newShop(t *testing.T, status int, contentType string, body any) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer k" || r.Header.Get("Request-Deadline") == "" {
			t.Errorf("authorized by %q, with the deadline %q", got, r.Header.Get("Request-Deadline"))
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func deduct(t *testing.T, patience time.Duration, urls ...string) Answer[Deduction] {
	t.Helper()
	f, err := NewFleet(urls, 8, patience, WithKey("k"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	answer, err := f.Deduct(t.Context(), "a", NewDeduction{OrderID: "o", Quantity: 1})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestFleetAsksTheNextProcessAfterAFailure(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	goneURL := gone.URL
	gone.Close()
	good := newShop(t, http.StatusCreated, "application/json", Deduction{OrderID: "o"})
	for name, bad := range map[string]string{
		"not available": newShop(t, http.StatusServiceUnavailable, "application/problem+json", Problem{Title: "t", Status: 503}),
		"not there":     goneURL,
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // a fleet may begin at either
				if a := deduct(t, 10*time.Second, bad, good); a.Status != http.StatusCreated {
					t.Errorf("got %+v, want 201", a)
				}
			}
		})
	}
}

func TestFleetReturnsTheLastProblemWhenItsPatienceEnds(t *testing.T) {
	bad := newShop(t, http.StatusServiceUnavailable, "application/problem+json", Problem{Title: "t", Status: 503})
	if a := deduct(t, 30*time.Millisecond, bad); a.Status != http.StatusServiceUnavailable || a.Problem == nil {
		t.Errorf("got %+v, want 503 with its problem", a)
	}
}
