//go:build citus

package app

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
)

// TestCitusService: the service refuses a database on Citus until it is distributed, and afterwards a URL without
// citus://. Then it sells, and reports its nodes.
func TestCitusService(t *testing.T) {
	c, err := servertest.StartCitus(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	plain, _, err := c.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	url := "citus" + strings.TrimPrefix(plain, "postgres")
	config := Config{DatabaseURL: url, Lock: LockNone, AnswerWithin: busytest.Patience, DrainTimeout: busytest.Patience}
	refused := func(config Config, want string) {
		t.Helper()
		a, err := Start(t.Context(), config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err == nil {
			_ = a.Close(t.Context())
		}
	}
	refused(config, "inventory migrate distribute")
	if _, err := Distribute(t.Context(), url, 4, false); err != nil {
		t.Fatal(err)
	}
	refused(Config{DatabaseURL: plain, Lock: LockNone}, "citus://")
	a, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	answers(t, http.MethodPut, a.URL()+"/v1/skus/a", `{"stock":10,"segments":2}`, http.StatusCreated)
	answers(t, http.MethodPut, a.URL()+"/v1/skus/b", `{"stock":10,"segments":2}`, http.StatusCreated)
	answers(t, http.MethodPost, a.URL()+"/v1/skus/a/deductions", `{"order_id":"o","quantity":2}`, http.StatusCreated)
	order := `{"order_id":"p","lines":[{"sku":"a","quantity":1},{"sku":"b","quantity":1}]}`
	answers(t, http.MethodPost, a.URL()+"/v1/orders", order, http.StatusCreated)
	answers(t, http.MethodPost, a.URL()+"/v1/orders", order, http.StatusOK)
	body := answers(t, http.MethodGet, a.AdminURL()+"/readyz", "", http.StatusOK)
	var ready struct {
		Database string
		Nodes    map[string]string
	}
	if err := json.Unmarshal(body, &ready); err != nil || ready.Database != "ok" || len(ready.Nodes) != 1 {
		t.Errorf("%s %v", body, err)
	}
	for _, sku := range []string{"a", "b"} {
		answers(t, http.MethodDelete, a.URL()+"/v1/skus/"+sku, "", http.StatusOK)
	}
	gone := make(map[string]int64)
	if err := Prune(t.Context(), url, time.Now().Add(time.Minute), false, func(sku string, pruned stock.Pruned) error {
		gone[sku] = pruned.Deductions
		return nil
	}); err != nil || gone["a"] != 2 || gone["b"] != 1 {
		t.Errorf("pruned %v, %v", gone, err)
	}
	if err := WithOutbox(t.Context(), url, true, func(o stock.Outbox) error {
		status, err := o.Status(t.Context())
		if status.On || status.Rows != 0 {
			t.Errorf("got %+v, want an outbox that is off and empty", status)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func answers(t *testing.T, method, url, body string, want int) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		t.Fatalf("%s %s: %d %s %v", method, url, response.StatusCode, got, err)
	}
	return got
}
