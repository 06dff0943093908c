package api_test

import (
	"strings"
	"testing"
	"time"
)

func TestReservation(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":2}`), 201, "")
	const order = `{"order_id":"o","buyer_id":"ann","quantity":4,"reserve_for":"15m"}`
	reserved := `{"sku":"a","order_id":"o","buyer_id":"ann","quantity":4,"status":"reserved","expires_at":"2026-11-27T09:15:00Z"}`
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 201, reserved)
	clock.advance(time.Minute)
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 200, reserved)
	s.want(s.send("POST", "/v1/skus/a/deductions", strings.Replace(order, "15m", "900s", 1)), 200, reserved)
	for _, other := range []string{`"14m"`, `"15m0.000001s"`} {
		s.wantProblem(s.send("POST", "/v1/skus/a/deductions", strings.Replace(order, `"15m"`, other, 1)), 422, "order_id_reused")
	}
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","buyer_id":"ann","quantity":4}`), 422, "order_id_reused")
	s.wantUnits("a", `"available":6,"reserved":4,"committed":0`)

	committed := `{"sku":"a","order_id":"o","buyer_id":"ann","quantity":4,"status":"committed"}`
	s.want(s.send("POST", "/v1/skus/a/deductions/o/commit", ""), 200, committed)
	s.want(s.send("POST", "/v1/skus/a/deductions/o/commit", "{}"), 200, committed)
	s.want(s.send("POST", "/v1/skus/a/deductions/o/commit", `{"quantity":4}`), 200, committed)
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 200, committed)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/commit", `{"quantity":3}`), 409, "already_committed", `"quantity":4`)
	s.wantUnits("a", `"available":6,"reserved":0,"committed":4`)
	clock.advance(time.Hour)
	s.wantUnits("a", `"available":6,"reserved":0,"committed":4`)

	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/cancel", ""), 409, "already_committed", `"quantity":4`)
	s.wantUnits("a", `"available":6,"reserved":0,"committed":4`)
	returned := `{"sku":"a","order_id":"o","buyer_id":"ann","quantity":4,"status":"returned"}`
	s.want(s.send("POST", "/v1/skus/a/deductions/o/return", ""), 200, returned)
	s.want(s.send("POST", "/v1/skus/a/deductions/o/return", "{}"), 200, returned)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", order), 409, "order_ended", `"order_status":"returned","quantity":4`)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/commit", ""), 409, "already_committed", `"order_status":"returned","quantity":4`)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/cancel", ""), 409, "already_committed")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/return", `{"quantity":1,"ref":"r"}`), 409, "not_committed", "returned")
	s.wantUnits("a", `"available":10,"reserved":0,"committed":0`)
}

func TestReservationExpires(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":3,"segments":1}`), 201, "")
	const order = `{"order_id":"o","quantity":3,"reserve_for":"1m30.5s"}`
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 201, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 409, "sold_out")
	clock.advance(90*time.Second + 499*time.Millisecond)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 409, "sold_out")
	clock.advance(time.Millisecond)
	s.wantUnits("a", `"available":3,"reserved":0,"committed":0`)
	expired := `{"sku":"a","order_id":"o","quantity":3,"status":"expired","expires_at":"2026-11-27T09:01:30.5Z"`
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", order), 409, "order_ended", `"order_status":"expired","quantity":3`)
	s.want(s.send("GET", "/v1/skus/a/deductions/o", ""), 200, expired+`,"parts":[{"segment":0,"quantity":3}]}`)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/commit", ""), 409, "not_reserved", "expired")
	s.want(s.send("POST", "/v1/skus/a/deductions/o/cancel", ""), 200, expired+"}")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":3}`), 201, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"q","quantity":1}`), 409, "sold_out")
	s.wantUnits("a", `"available":0,"reserved":0,"committed":3`)
}

func TestPartialCommit(t *testing.T) {
	t.Parallel()
	s := openAt(t, newClock())
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":4}`), 201, "")
	const order = `{"order_id":"o","quantity":9,"reserve_for":"720h"}` // more than a segment holds
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 201, "")
	kept := `{"sku":"a","order_id":"o","quantity":4,"status":"committed"`
	s.want(s.send("POST", "/v1/skus/a/deductions/o/commit", `{"quantity":4}`), 200, kept+"}")
	s.want(s.send("POST", "/v1/skus/a/deductions/o/commit", `{"quantity":4}`), 200, kept+"}")
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 200, kept+"}")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":4,"reserve_for":"720h"}`), 422, "order_id_reused")
	s.wantUnits("a", `"available":6,"reserved":0,"committed":4`)
	s.want(s.send("POST", "/v1/skus/a/deductions/o/return", ""), 200, `{"sku":"a","order_id":"o","quantity":4,"status":"returned"}`)
	s.wantUnits("a", `"available":10,"reserved":0,"committed":0`)
}

func TestExtendGivesALaterEnd(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":3,"segments":1,"max_reserve_for":"1h"}`), 201, "")
	const order, extend = `{"order_id":"o","quantity":3,"reserve_for":"15m"}`, "/v1/skus/a/deductions/o/extend"
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 201, "")
	clock.advance(14 * time.Minute)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 409, "sold_out")
	longer := `{"sku":"a","order_id":"o","quantity":3,"status":"reserved","expires_at":"2026-11-27T09:44:00Z"}`
	s.want(s.send("POST", extend, `{"ref":"r","reserve_for":"30m"}`), 200, longer)
	clock.advance(time.Minute) // the old end
	s.want(s.send("POST", extend, `{"ref":"r","reserve_for":"PT30M"}`), 200, longer)
	s.want(s.send("POST", extend, `{"ref":"shorter","reserve_for":60}`), 200, longer)
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 200, longer)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", strings.Replace(order, "15m", "44m", 1)), 422, "order_id_reused")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 409, "sold_out")
	s.wantProblem(s.send("POST", extend, `{"ref":"r","reserve_for":"31m"}`), 422, "ref_reused")
	s.wantProblem(s.send("POST", extend, `{"ref":"s","reserve_for":"1h0m0.000001s"}`), 400, "invalid_request", `"field":"reserve_for"`, "1s to 1h0m0s")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/p/extend", `{"ref":"s","reserve_for":"1h"}`), 404, "unknown_deduction")
	s.wantProblem(s.send("POST", "/v1/skus/none/deductions/o/extend", `{"ref":"s","reserve_for":"1h"}`), 404, "unknown_sku")
	clock.advance(29 * time.Minute)
	s.wantProblem(s.send("POST", extend, `{"ref":"s","reserve_for":"1h"}`), 409, "not_reserved", "expired")
	s.want(s.send("POST", extend, `{"ref":"r","reserve_for":"30m"}`), 200, strings.Replace(longer, "reserved", "expired", 1))
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":3,"reserve_for":"1m"}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions/p/commit", ""), 200, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/p/extend", `{"ref":"r","reserve_for":"30m"}`), 409, "not_reserved", "committed")
	s.want(s.send("POST", "/v1/skus/a/deductions/p/return", ""), 200, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/p/extend", `{"ref":"r","reserve_for":"30m"}`), 409, "not_reserved", "returned")
}

func TestReturnOfAPart(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":4}`), 201, "")
	const order, cancel, giveBack = `{"order_id":"o","quantity":9,"reserve_for":"1h"}`, "/v1/skus/a/deductions/o/cancel", "/v1/skus/a/deductions/o/return"
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 201, "")
	s.want(s.send("POST", cancel, `{"quantity":2,"ref":"r"}`), 200, `{"sku":"a","order_id":"o","quantity":7,"status":"reserved","expires_at":"2026-11-27T10:00:00Z"}`)
	s.want(s.send("POST", "/v1/skus/a/deductions", order), 200, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", strings.Replace(order, "9", "7", 1)), 422, "order_id_reused")
	s.wantUnits("a", `"available":3,"reserved":7,"committed":0`)
	clock.advance(time.Second)
	s.want(s.send("POST", "/v1/skus/a/deductions/o/commit", `{"quantity":7}`), 200, "")
	clock.advance(time.Second)
	s.wantProblem(s.send("POST", giveBack, `{"quantity":2,"ref":"r"}`), 422, "ref_reused") // the ref of a cancel
	s.want(s.send("POST", giveBack, `{"quantity":3,"ref":"s"}`), 200, `{"sku":"a","order_id":"o","quantity":4,"status":"committed"}`)
	s.want(s.send("POST", cancel, `{"quantity":2,"ref":"r"}`), 200, `{"sku":"a","order_id":"o","quantity":4,"status":"committed"}`)
	s.want(s.send("POST", "/v1/skus/a/deductions/o/commit", `{"quantity":7}`), 200, "") // a retry
	s.wantProblem(s.send("POST", cancel, `{"quantity":3,"ref":"r"}`), 422, "ref_reused")
	s.wantProblem(s.send("POST", giveBack, `{"quantity":3,"ref":"s","restock":false}`), 422, "ref_reused")
	s.wantProblem(s.send("POST", giveBack, `{"quantity":5,"ref":"t"}`), 400, "invalid_request", `"field":"quantity"`, "1 to 4")
	s.wantUnits("a", `"available":6,"reserved":0,"committed":4`)
	s.want(s.send("POST", giveBack, `{"quantity":1,"ref":"off","restock":false,"reason":"damaged"}`), 200, `{"sku":"a","order_id":"o","quantity":3,"status":"committed"}`)
	s.wantUnits("a", `"stock":9,"available":6,"reserved":0,"committed":3`)
	s.want(s.send("POST", giveBack, ""), 200, `{"sku":"a","order_id":"o","quantity":3,"status":"returned"}`)
	s.want(s.send("POST", giveBack, `{"quantity":3,"ref":"s"}`), 200, `{"sku":"a","order_id":"o","quantity":3,"status":"returned"}`)
	s.wantProblem(s.send("POST", giveBack, `{"restock":false}`), 422, "ref_reused")
	s.wantProblem(s.send("POST", giveBack, `{"quantity":1,"ref":"t"}`), 409, "not_committed", "returned")
	s.wantUnits("a", `"available":9,"reserved":0,"committed":0`)
	if a := s.send("GET", "/v1/skus/a/audit", ""); !strings.Contains(a.body, `"ok":true`) || !strings.Contains(a.body, `"written_off":1`) {
		t.Errorf("audit: %s", a.body)
	}
	ledger := s.send("GET", "/v1/skus/a/movements", "").body
	if !strings.Contains(ledger, `{"ref":"off","order_id":"o","kind":"write_off","quantity":-1,"reason":"damaged","at":"2026-11-27T09:00:02Z"}`) {
		t.Errorf("got the ledger %s, want a write-off of one", ledger)
	}
	history := `{"sku":"a","order_id":"o","history":[{"kind":"reserved","quantity":9,"at":"2026-11-27T09:00:00Z","expires_at":"2026-11-27T10:00:00Z"},` +
		`{"kind":"cancelled","quantity":2,"at":"2026-11-27T09:00:00Z","ref":"r"},{"kind":"committed","quantity":7,"at":"2026-11-27T09:00:01Z"},`
	if got := s.send("GET", "/v1/skus/a/deductions/o/history", ""); got.status != 200 || !strings.HasPrefix(got.body, history) ||
		!strings.Contains(got.body, `{"kind":"written_off","quantity":1,"at":"2026-11-27T09:00:02Z","ref":"off","reason":"damaged"}`) {
		t.Errorf("got the history %s, want %s", got.body, history)
	}
}

// TestPaidTooLate: a commit takes the units of an expired reservation again if they are there, once, also after the sale.
func TestPaidTooLate(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":5,"segments":2,"sale_ends_at":"2026-11-27T10:00:00Z"}`), 201, "")
	for _, id := range []string{"o", "p"} {
		s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"`+id+`","quantity":2,"reserve_for":"1h"}`), 201, "")
	}
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"q","quantity":1}`), 201, "")
	clock.advance(2 * time.Hour)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/commit", ""), 409, "not_reserved", `"order_status":"expired"`)
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/commit", `{"if_expired":"again"}`), 400, "invalid_request", `"field":"if_expired"`)
	committed := `{"sku":"a","order_id":"o","quantity":2,"status":"committed"}`
	for range 2 {
		s.want(s.send("POST", "/v1/skus/a/deductions/o/commit", `{"if_expired":"retake"}`), 200, committed)
	}
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":2,"reserve_for":"1h"}`), 200, committed)
	s.want(s.send("POST", "/v1/skus/a/adjust", `{"ref":"r","quantity":-1,"reason":"lost"}`), 201, "")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions/p/commit", `{"if_expired":"retake"}`), 409, "not_reserved", "1 available, fewer than asked for")
	s.want(s.send("POST", "/v1/skus/a/deductions/p/commit", `{"if_expired":"retake","quantity":1}`), 200, "")
	s.wantUnits("a", `"available":0,"reserved":0,"committed":4`)
}

func TestSettlingWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := openAt(t, newClock())
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10}`), 201, "")
	for _, verb := range []string{"commit", "cancel", "return"} {
		s.wantProblem(s.send("POST", "/v1/skus/a/deductions/o/"+verb, ""), 404, "unknown_deduction")
		s.wantProblem(s.send("POST", "/v1/skus/none/deductions/o/"+verb, ""), 404, "unknown_sku")
		s.wantProblem(s.send("GET", "/v1/skus/a/deductions/o/"+verb, ""), 405, "method_not_allowed")
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := openAt(t, clock)
	const terms = `{"stock":10,"segments":1,"sale_starts_at":"2026-11-27T10:30:00.25+01:00","sale_ends_at":"2026-11-27T10:00:00Z",` +
		`"per_buyer_limit":3,"max_quantity":2,"max_reserve_for":"2h30m"}`
	created := `{"sku":"a","sale_starts_at":"2026-11-27T09:30:00.25Z","sale_ends_at":"2026-11-27T10:00:00Z","per_buyer_limit":3,"max_quantity":2,` +
		`"stock":10,"available":10,"reserved":0,"committed":0,"layout":1,"max_reserve_for":"2h30m0s","segments":[{"segment":0,"available":10}]}`
	s.want(s.send("PUT", "/v1/skus/a", terms), 201, created)
	s.want(s.send("PUT", "/v1/skus/a", terms), 200, created)
	s.want(s.send("PUT", "/v1/skus/a", strings.Replace(terms, "10:30:00.25+01:00", "09:30:00.25Z", 1)), 200, created)
	for _, other := range []string{
		strings.Replace(terms, "00.25", "00.26", 1), strings.Replace(terms, "10:00:00Z", "10:00:01Z", 1),
		strings.Replace(terms, "limit\":3", "limit\":4", 1), strings.Replace(terms, "quantity\":2", "quantity\":3", 1),
		strings.Replace(terms, "2h30m", "2h30m1s", 1), `{"stock":10,"segments":1}`,
	} {
		s.wantProblem(s.send("PUT", "/v1/skus/a", other), 409, "sku_exists")
	}
	deduct := func(order, buyer string, quantity string) answer {
		return s.send("POST", "/v1/skus/a/deductions", `{"order_id":"`+order+`","buyer_id":"`+buyer+`","quantity":`+quantity+`}`)
	}
	s.wantProblem(deduct("o", "ann", "1"), 409, "sale_closed", `"sku":"a"`, "2026-11-27T09:30:00.25Z")
	clock.advance(30*time.Minute + 250*time.Millisecond)
	s.wantProblem(deduct("o", "ann", "3"), 400, "invalid_request", `"field":"quantity"`, "1 to 2")
	s.wantProblem(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":1}`), 400, "invalid_request", `"field":"buyer_id"`)
	long := s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","buyer_id":"ann","quantity":1,"reserve_for":"2h30m0.000001s"}`)
	s.wantProblem(long, 400, "invalid_request", `"field":"reserve_for"`, "1s to 2h30m0s")
	s.want(deduct("o", "ann", "2"), 201, "")
	s.wantProblem(deduct("p", "ann", "2"), 409, "buyer_limit", `"sku":"a"`)
	s.want(deduct("p", "ann", "1"), 201, "")
	s.wantProblem(deduct("q", "ann", "1"), 409, "buyer_limit")
	s.want(deduct("q", "bob", "1"), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions/p/return", ""), 200, "")
	s.want(deduct("r", "ann", "1"), 201, "")
	clock.advance(30 * time.Minute)
	s.wantProblem(deduct("t", "bob", "1"), 409, "sale_closed")
	s.want(deduct("o", "ann", "2"), 200, "") // a winner still gets its answer
}

// wantUnits checks where a SKU's units are.
func (s *site) wantUnits(sku, units string) {
	s.t.Helper()
	if a := s.send("GET", "/v1/skus/"+sku, ""); !strings.Contains(a.body, units) {
		s.t.Errorf("want %s, got %s", units, a.body)
	}
}
