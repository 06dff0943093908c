package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAdjustChangesStockOnceForItsRef(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":4}`), 201, "")
	lost := `{"ref":"count-1","quantity":-7,"reason":"lost"}`
	s.want(s.send("POST", "/v1/skus/a/adjust", lost), 201, lost)
	s.want(s.send("POST", "/v1/skus/a/adjust", lost), 200, lost)
	s.wantProblem(s.send("POST", "/v1/skus/a/adjust", strings.Replace(lost, "7", "6", 1)), 422, "ref_reused")
	s.wantProblem(s.send("POST", "/v1/skus/a/adjust", `{"ref":"count-2","quantity":-4,"reason":"lost"}`), 409, "insufficient_stock", `"available":3`)
	s.want(s.send("POST", "/v1/skus/a/adjust", `{"ref":"count-2","quantity":2,"reason":"found"}`), 201, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/restock", `{"ref":"count-2","quantity":2,"reason":"found"}`), 422, "ref_reused")
	s.wantProblem(s.send("POST", "/v1/skus/a/adjust", `{"ref":"count-9","quantity":1,"if_stock":9999}`), 409, "stock_changed", `"stock":`)
	s.wantProblem(s.send("POST", "/v1/skus/a/adjust", `{"ref":"count-9","quantity":1,"if_stock":-1}`), 400, "invalid_request", `"field":"if_stock"`)
	s.wantProblem(s.send("POST", "/v1/skus/none/adjust", lost), 404, "unknown_sku")
	s.wantUnits("a", `"stock":5,"available":5,`)
}

func TestResegmentKeepsEveryUnit(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":4}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":2,"reserve_for":"1h"}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/resegment", `{"ref":"r","segments":2}`), 201, `{"ref":"r","segments":2}`)
	s.want(s.send("POST", "/v1/skus/a/resegment", `{"ref":"r","segments":2}`), 200, `{"ref":"r","segments":2}`)
	s.wantProblem(s.send("POST", "/v1/skus/a/resegment", `{"ref":"r","segments":3}`), 422, "ref_reused")
	s.wantProblem(s.send("POST", "/v1/skus/none/resegment", `{"ref":"r","segments":3}`), 404, "unknown_sku")
	s.want(s.send("GET", "/v1/skus/a", ""), 200, `{"sku":"a","stock":10,"available":8,"reserved":2,"committed":0,"layout":2,`+
		`"segments":[{"segment":0,"available":4},{"segment":1,"available":4}]}`)
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":8}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions/o/cancel", ""), 200, "")
	s.wantUnits("a", `"available":2,"reserved":0,"committed":8`)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":4}`), 200, "") // it is still the same SKU
}

// ledger is an answer with movements.
type ledger struct {
	SKU       string
	Movements []struct {
		Ref, Kind, Reason string
		Quantity          int64
		Segments          int
		At                time.Time
	}
	Next *string
}

func (s *site) ledger(query string) (l ledger) {
	s.t.Helper()
	a := s.send("GET", "/v1/skus/a/movements"+query, "")
	if err := json.Unmarshal([]byte(a.body), &l); err != nil || a.status != 200 {
		s.t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return l
}

// refs reads the ledger page by page.
func (s *site) refs(order string, limit int) (refs []string) {
	s.t.Helper()
	query := fmt.Sprintf("?order=%s&limit=%d", order, limit)
	for after := ""; ; {
		page := s.ledger(query + after)
		if len(page.Movements) > limit {
			s.t.Errorf("%d movements in a page of %d", len(page.Movements), limit)
		}
		for _, m := range page.Movements {
			refs = append(refs, m.Ref)
		}
		if page.Next == nil {
			return refs
		}
		after = "&after=" + *page.Next
	}
}

func TestMovementsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":4}`), 201, "")
	s.want(s.send("GET", "/v1/skus/a/movements", ""), 200, `{"sku":"a","movements":[]}`)
	s.wantProblem(s.send("GET", "/v1/skus/none/movements", ""), 404, "unknown_sku")
	for _, m := range []string{
		`restock {"ref":"z/ü","quantity":5,"reason":"van"}`, `resegment {"ref":"y","segments":2}`, `adjust {"ref":"x","quantity":-1,"reason":"lost"}`,
		`restock {"ref":"w","quantity":1}`, `restock {"ref":"v","quantity":1}`,
	} {
		route, body, _ := strings.Cut(m, " ")
		s.want(s.send("POST", "/v1/skus/a/"+route, body), 201, "") // all at the same time of the clock
	}
	all := s.ledger("")
	got := fmt.Sprint(all.Movements)
	for _, m := range all.Movements {
		got = strings.ReplaceAll(got, " "+m.At.String(), "")
		if m.At.Before(clock.now()) || m.At.After(clock.now().Add(time.Second)) {
			t.Errorf("%s is of %s", m.Ref, m.At)
		}
	}
	want := "[{z/ü restock van 5 0} {y resegment  0 2} {x adjust lost -1 0} {w restock  1 0} {v restock  1 0}]"
	if got != want || all.SKU != "a" || all.Next != nil {
		t.Errorf("got %s, want %s", got, want)
	}
	for order, want := range map[string]string{"oldest": "[z/ü y x w v]", "newest": "[v w x y z/ü]"} {
		for limit := 1; limit <= 6; limit++ {
			if refs := fmt.Sprint(s.refs(order, limit)); refs != want {
				t.Errorf("the %s first, in pages of %d: %s", order, limit, refs)
			}
		}
	}
	s.wantProblem(s.send("GET", "/v1/skus/a/movements?order=", ""), 400, "invalid_request", `"field":"order"`)
	// A reader that has read to the end can go on from there.
	last := s.ledger("?limit=5").Next
	if last == nil {
		t.Fatal("a full page has no next")
	}
	s.want(s.send("GET", "/v1/skus/a/movements?after="+*last, ""), 200, `{"sku":"a","movements":[]}`)
	clock.advance(time.Second)
	s.want(s.send("POST", "/v1/skus/a/restock", `{"ref":"a","quantity":1}`), 201, "")
	if page := s.ledger("?after=" + *last); len(page.Movements) != 1 || page.Movements[0].Ref != "a" {
		t.Errorf("got %+v", page)
	}
}
