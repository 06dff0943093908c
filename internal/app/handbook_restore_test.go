package app_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// happening is a request of a shop, as its records have it.
type happening struct{ path, body string }

// TestTheHandbookRestoresABackup loses a database after a backup whose reservations have ended since, and follows the handbook: the
// orders are then what they were, and no unit is sold twice.
func TestTheHandbookRestoresABackup(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	lost, restored := filepath.Join(t.TempDir(), "lost.db"), filepath.Join(t.TempDir(), "restored.db")
	postgres := emptyDatabase(t)
	for name, database := range map[string]struct {
		url    string
		backup func(t *testing.T) (url string)
	}{
		"sqlite": {"sqlite:" + lost, func(t *testing.T) string {
			copyFile(t, lost, restored)
			return "sqlite:" + restored
		}},
		"postgres": {postgres, func(t *testing.T) string { return clone(t, postgres) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openRestored(t, database.url)
			s.sends("PUT", happening{"/v1/skus/lamp", `{"stock":6,"segments":2}`}, 201)
			s.sends("PUT", happening{"/v1/skus/bulb", `{"stock":3,"segments":2}`}, 201)
			for _, reserved := range []happening{
				{"/v1/skus/lamp/deductions", `{"order_id":"paid","quantity":1,"reserve_for":"1s"}`},
				{"/v1/skus/lamp/deductions", `{"order_id":"never-paid","quantity":1,"reserve_for":"1s"}`},
				{"/v1/skus/lamp/deductions", `{"order_id":"given-up","quantity":1,"reserve_for":"1h"}`},
				{"/v1/skus/lamp/deductions", `{"order_id":"still-pays","quantity":1,"reserve_for":"1h"}`},
				{"/v1/orders", `{"order_id":"basket","reserve_for":"1s","lines":[{"sku":"lamp","quantity":1},{"sku":"bulb","quantity":1}]}`},
			} {
				s.sends("POST", reserved, 201)
			}
			s.close()
			backup := database.backup(t)

			s = openRestored(t, database.url)
			after := []happening{ // the backup
				{"/v1/skus/lamp/deductions/paid/commit", `{"if_expired":"retake"}`}, // in time or not
				{"/v1/orders/basket/commit", `{"if_expired":"retake"}`},
				{"/v1/skus/lamp/deductions/given-up/cancel", ``},
				{"/v1/skus/lamp/restock", `{"ref":"delivery-1","quantity":1}`},
				{"/v1/skus/lamp/deductions", `{"order_id":"new","quantity":2}`},
				{"/v1/orders", `{"order_id":"new-basket","reserve_for":"1m","lines":[{"sku":"lamp","quantity":1},{"sku":"bulb","quantity":2}]}`},
				{"/v1/orders/new-basket/commit", `{"if_expired":"retake"}`},
				{"/v1/skus/lamp/deductions/new/return", `{"quantity":1,"ref":"parcel-1","restock":false,"reason":"damaged"}`},
				{"/v1/skus/bulb/deductions/basket/return", ``},
			}
			for _, h := range after {
				s.sends("POST", h, 0)
			}
			s.untilExpired("never-paid")
			want, told := s.state(), s.outbox(database.url)
			s.close() // step 1

			s = openRestored(t, backup) // steps 2 and 3
			s.untilExpired("paid")
			for _, h := range after { // step 4
				s.sends("POST", h, 0)
			}
			s.sends("POST", happening{"/v1/skus/lamp/deductions/still-pays/extend", `{"ref":"restored","reserve_for":"1h"}`}, 200) // step 5
			if got := s.state(); !reflect.DeepEqual(got, want) {
				t.Errorf("restored: %v\nlost:     %v", got, want)
			}
			for order, status := range told {
				if got := s.status(order); got != status {
					t.Errorf("%s is %s, and was %s in the outbox", order, got, status)
				}
			}
			s.isBalanced()
			left := want["lamp"].(map[string]any)["available"].(float64)
			s.sends("POST", happening{"/v1/skus/lamp/deductions", fmt.Sprintf(`{"order_id":"rest","quantity":%v}`, left)}, 201)
			s.sends("POST", happening{"/v1/skus/lamp/deductions", `{"order_id":"too-much","quantity":1}`}, 409)
			s.close()
		})
	}
}

// restored is a service on one of the databases, with its outbox on.
type restored struct {
	*app.App
	t      *testing.T
	config app.Config
}

func openRestored(t *testing.T, url string) *restored {
	t.Helper()
	s := &restored{t: t, config: app.Config{DatabaseURL: url, Lock: app.LockNone}}
	var err error
	if s.App, err = tryStart(t, s.config); err != nil {
		t.Fatal(err)
	}
	if err := inTime(t, func() error {
		return app.WithOutbox(t.Context(), url, false, func(o stock.Outbox) error { return o.On(t.Context()) })
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *restored) close() {
	s.t.Helper()
	closeNow(s.t, s.App)
}

// sends sends a request, and wants its status; 0: a success. If a busy database does not answer it in time, it sends it again, and
// the first try may have been carried out.
func (s *restored) sends(method string, h happening, want int) (body map[string]any) {
	s.t.Helper()
	var got int
	var text []byte
	tries := 0
	busytest.Soon(s.t, "the database answers "+method+" "+h.path+" in time", func() bool {
		got, text = s.answer(method, h)
		tries++
		return got != http.StatusServiceUnavailable
	})
	// An earlier try may have been carried out, and its reservation may have ended since.
	ended := got == http.StatusConflict && bytes.Contains(text, []byte(`"code":"order_ended"`))
	if tries > 1 && (got == http.StatusOK || ended) && (want == http.StatusCreated || want == 0) {
		got = cmp.Or(want, http.StatusOK)
	}
	if err := json.Unmarshal(text, &body); err != nil || got != want && (want != 0 || got/100 != 2) {
		s.t.Errorf("%s %s %s: %d %s, want %d: %v", method, h.path, h.body, got, text, want, err)
	}
	return body
}

// answer sends a request once, and returns its status and its body.
func (s *restored) answer(method string, h happening) (status int, text []byte) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL()+h.path, strings.NewReader(h.body))
	if err != nil {
		s.t.Fatal(err)
	}
	if h.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(answer.Body); err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, text
}

// state is what the SKUs hold, and the status and the quantity of each order.
func (s *restored) state() map[string]any {
	s.t.Helper()
	all := make(map[string]any)
	for _, sku := range []string{"lamp", "bulb"} {
		totals := s.sends("GET", happening{path: "/v1/skus/" + sku}, 200)
		delete(totals, "segments") // a merge may split them in another way
		all[sku] = totals
		for _, d := range s.sends("GET", happening{path: "/v1/skus/" + sku + "/deductions"}, 200)["deductions"].([]any) {
			d := d.(map[string]any)
			all[sku+"/"+d["order_id"].(string)] = []any{d["status"], d["quantity"]}
		}
	}
	return all
}

func (s *restored) status(order string) string {
	s.t.Helper()
	sku, orderID, _ := strings.Cut(order, "/")
	return s.sends("GET", happening{path: "/v1/skus/" + sku + "/deductions/" + orderID}, 200)["status"].(string)
}

func (s *restored) untilExpired(orderID string) {
	s.t.Helper()
	busytest.Soon(s.t, orderID+" has expired", func() bool { return s.status("lamp/"+orderID) == string(stock.StatusExpired) })
}

func (s *restored) isBalanced() {
	s.t.Helper()
	if audit := s.sends("GET", happening{path: "/v1/audit"}, 200); audit["ok"] != true {
		s.t.Errorf("the audit says %v", audit)
	}
}

// outbox returns the last status of each order that the outbox tells of.
func (s *restored) outbox(url string) (last map[string]string) {
	s.t.Helper()
	if err := app.WithOutbox(s.t.Context(), url, true, func(o stock.Outbox) error {
		last = s.lastChanges(o)
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return last
}

func (s *restored) lastChanges(o stock.Outbox) map[string]string {
	s.t.Helper()
	last, versions, cursor := make(map[string]string), make(map[string]int64), ""
	busytest.Soon(s.t, "the outbox tells of the last change, whatever transactions of other tests there are", func() bool {
		changes, err := o.Read(s.t.Context(), cursor, 100)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, c := range changes {
			if name := c.SKU + "/" + c.OrderID; c.Version >= versions[name] {
				last[name], versions[name] = string(c.Status), c.Version
			}
			cursor = c.Cursor
		}
		return len(changes) == 0 && last["bulb/basket"] == string(stock.StatusReturned)
	})
	return last
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// clone copies a database of PostgreSQL that nobody uses.
func clone(t *testing.T, url string) string {
	t.Helper()
	copied, drop, err := postgresServer.CreateDatabase(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return copied
}
