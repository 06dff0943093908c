package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/api/client"
)

// settled is a good history with more of it. r1 reserves three of b, gives one up, commits two, writes one off and returns the last. r2
// reserves two of b, and takes them again after they have expired. The orders r3 and r4 reserve one of a and of b: r3 is extended
// and committed, and its b is returned; r4 is cancelled.
func settled() *world {
	w := good()
	one, both := []Line{{SKU: "b"}}, []Line{{SKU: "a"}, {SKU: "b"}}
	all := func(ms int, state string) Attempt {
		return tried(ms, Answer{Status: 200, Quantity: 2, States: States{"a": state, "b": state}})
	}
	took := func(kind Kind, id string, ms int, a Answer, lines ...Line) {
		a.Status = 201
		w.did(Operation{Kind: kind, ID: id, Buyer: "dora", Lines: lines, ReserveFor: time.Second}, tried(ms, a))
	}
	does := func(kind Kind, id, ref string, lines []Line, a Attempt) {
		w.did(Operation{Kind: kind, ID: id, Ref: ref, Lines: lines}, a)
	}
	ok := func(ms int, state string, quantity int64) Attempt {
		return tried(ms, Answer{Status: 200, State: state, Quantity: quantity})
	}
	took(Deduct, "r1", 10_000, Answer{State: reserved, Quantity: 3, Expires: at(11_005)}, Line{"b", 3})
	does(Cancel, "r1", "c1", []Line{{"b", 1}}, ok(10_200, reserved, 2))
	does(Commit, "r1", "", one, ok(10_400, committed, 2))
	does(Return, "r1", "b1", []Line{{"b", 1}}, ok(10_600, committed, 1))
	does(Return, "r1", "", one, ok(10_800, returned, 1))
	took(Deduct, "r2", 20_000, Answer{State: reserved, Quantity: 2, Expires: at(21_005)}, Line{"b", 2})
	does(Commit, "r2", "", one, ok(21_500, committed, 2))
	took(Order, "r3", 30_000, Answer{Quantity: 2, States: States{"a": reserved, "b": reserved}}, Line{"a", 1}, Line{"b", 1})
	does(Extend, "r3", "e1", both, all(30_500, reserved))
	does(Commit, "r3", "", one, tried(30_800, Answer{Status: 409, Code: client.PartOfOrder, State: reserved}))
	does(Commit, "r3", "", both, all(31_000, committed))
	does(Return, "r3", "b2", []Line{{"b", 1}}, ok(31_200, returned, 1))
	took(Order, "r4", 40_000, Answer{Quantity: 2, States: States{"a": reserved, "b": reserved}}, Line{"a", 1}, Line{"b", 1})
	does(Cancel, "r4", "", both, all(40_200, cancelled))
	w.of(Return, "r1").WriteOff, w.of(Commit, "r2").Retake, w.of(Extend, "r3").ReserveFor = true, true, time.Second
	row := func(sku, id string, units int64, state string, ms, ends, sold, ended int) {
		d := Deduction{SKU: sku, ID: id, Buyer: "dora", Asked: units, Quantity: units, State: state, Created: at(ms), Expires: at(ends)}
		if sold > 0 {
			d.Committed = at(sold)
		}
		if ended > 0 {
			d.Ended = at(ended)
		}
		w.rows.Deductions = append(w.rows.Deductions, d)
	}
	row("b", "r1", 3, returned, 10_005, 11_005, 10_405, 10_805)
	row("b", "r2", 2, committed, 20_005, 21_005, 21_505, 0)
	row("a", "r3", 1, committed, 30_005, 31_505, 31_005, 0)
	row("b", "r3", 1, returned, 30_005, 31_505, 31_005, 31_205)
	row("a", "r4", 1, cancelled, 40_005, 41_005, 0, 40_205)
	row("b", "r4", 1, cancelled, 40_005, 41_005, 0, 40_205)
	w.row("b", "r1").Quantity = 1
	w.rows.Amendments = []Amendment{
		{SKU: "b", ID: "r1", Ref: "c1", Kind: "cancel", Returned: 1, Created: at(10_205)},
		{SKU: "b", ID: "r1", Ref: "b1", Kind: "write_off", Returned: 1, Created: at(10_605)},
		{SKU: "b", ID: "r1", Kind: "return", Returned: 1, Created: at(10_805)},
		{SKU: "a", ID: "r3", Ref: "e1", Kind: "extend", Extended: time.Second, Created: at(30_505)},
		{SKU: "b", ID: "r3", Ref: "e1", Kind: "extend", Extended: time.Second, Created: at(30_505)},
		{SKU: "b", ID: "r3", Ref: "b2", Kind: "return", Returned: 1, Created: at(31_205)},
	}
	w.rows.Movements = append(w.rows.Movements, Movement{"b", "r1\x1eb1", "write_off", -1})
	w.rows.SKUs[0].Available, w.rows.SKUs[1].Available = 9, 5
	return w
}

// of is the first operation of a kind on an id.
func (w *world) of(kind Kind, id string) *Operation {
	return &w.operations[slices.IndexFunc(w.operations, func(o Operation) bool { return o.Kind == kind && o.ID == id })]
}

func (w *world) row(sku, id string) *Deduction {
	return &w.rows.Deductions[slices.IndexFunc(w.rows.Deductions, func(d Deduction) bool { return d.SKU == sku && d.ID == id })]
}

// again has an operation tried once more.
func (w *world) again(kind Kind, id string, ms int, a Answer) {
	o := w.of(kind, id)
	o.Attempts = append(slices.Clone(o.Attempts), tried(ms, a))
}

func TestComplaintsAboutSettlements(t *testing.T) {
	t.Parallel()
	ended := func(state string) Answer {
		return Answer{Status: 409, Code: client.OrderEnded, State: state, Quantity: 1}
	}
	wantComplaints(t, settled, map[string]complaint{
		"what was committed is cancelled in the rows": {func(w *world) {
			w.row("b", "r2").State, w.row("b", "r2").Ended = cancelled, at(22_000)
			w.rows.SKUs[1].Available = 7
		}, "undone"},
		"a cancel of what was committed is accepted": {func(w *world) {
			w.did(Operation{Kind: Cancel, ID: "r2", Lines: []Line{{SKU: "b"}}}, tried(22_000, Answer{Status: 200, State: cancelled}))
		}, "undone"},
		"taken again, and nobody asked for that": {func(w *world) { w.of(Commit, "r2").Retake = false }, "too late"},
		"committed, and no row says when":        {func(w *world) { w.row("b", "r2").Committed = time.Time{} }, "undone"},
		"committed long after it was asked for":  {func(w *world) { w.row("b", "r2").Committed = at(29_000) }, "late"},
		"cancelled after its end": {func(w *world) {
			w.row("a", "r4").Ended = at(41_006)
			w.of(Cancel, "r4").Attempts[0].Ended = at(41_010)
		}, "too late"},
		"a part given up after the commit": {func(w *world) { w.rows.Amendments[0].Created = at(10_450) }, "undone"},
		"returned before the commit":       {func(w *world) { w.rows.Amendments[1].Created = at(10_300) }, "undone"},
		"a write-off is not in the ledger": {func(w *world) { w.rows.Movements = w.rows.Movements[:1] }, "ledger"},
		"a write-off of other units":       {func(w *world) { w.rows.Movements[1].Quantity = -2 }, "ledger"},
		"a write-off twice in the ledger":  {func(w *world) { w.rows.Movements = append(w.rows.Movements, w.rows.Movements[1]) }, "ledger"},
		"what was written off is sold":     {func(w *world) { w.rows.SKUs[1].Available++ }, "oversold"},
		"what was written off is in stock": {func(w *world) {
			w.rows.Amendments[1].Kind, w.rows.Movements = "return", w.rows.Movements[:1]
			w.rows.SKUs[1].Available++
		}, "amendment"},
		"all is returned, and one more":     {func(w *world) { w.rows.Amendments[2].Returned = 2 }, "amendment"},
		"the return of the rest is nowhere": {func(w *world) { w.rows.Amendments = slices.Delete(w.rows.Amendments, 2, 3) }, "amendment"},
		"a return of a reservation": {func(w *world) {
			w.of(Return, "r1").Attempts = []Attempt{tried(10_300, Answer{Status: 200, State: returned})}
		}, "no cause"},
		"a line committed alone": {func(w *world) {
			w.of(Commit, "r3").Attempts[0].Answer = Answer{Status: 200, State: committed, Quantity: 1}
		}, "half"},
		"half an order committed": {func(w *world) {
			row := w.row("a", "r3")
			row.State, row.Committed = expired, time.Time{}
		}, "half"},
		"half an order cancelled":          {func(w *world) { w.row("b", "r4").State, w.row("b", "r4").Ended = expired, time.Time{} }, "half"},
		"half an order is told":            {func(w *world) { w.of(Extend, "r3").Attempts[0].Answer.States["b"] = committed }, "half"},
		"an ended order sent again is 200": {func(w *world) { w.again(Deduct, "r1", 10_900, Answer{Status: 200, State: committed, Quantity: 1}) }, "undone"},
		"a cancelled order sent again is 200": {func(w *world) {
			w.again(Order, "r4", 40_300, Answer{Status: 200, Quantity: 2, States: States{"a": reserved, "b": reserved}})
		}, "undone"},
		"an expired order sent again is 200": {func(w *world) {
			w.again(Deduct, "r2", 21_200, Answer{Status: 200, State: reserved, Quantity: 2, Expires: at(21_005)})
		}, "too late"},
		"a cancelled order sent again is told so, as 200": {func(w *world) {
			w.again(Order, "r4", 40_300, Answer{Status: 200, Quantity: 2, States: States{"a": cancelled, "b": cancelled}})
		}, "ended"},
		"ended, and half of it is left": {func(w *world) {
			w.again(Order, "r3", 31_300, Answer{Status: 409, Code: client.OrderEnded, States: States{"a": committed, "b": returned}})
		}, "ended"},
		"ended before its time":            {func(w *world) { w.again(Deduct, "r2", 20_500, ended(expired)) }, "too early"},
		"ended, and it was taken again":    {func(w *world) { w.again(Deduct, "r2", 21_600, ended(expired)) }, "undone"},
		"ended, and nobody cancelled":      {func(w *world) { w.again(Deduct, "r2", 20_500, ended(cancelled)) }, "no cause"},
		"ended before it was all returned": {func(w *world) { w.again(Deduct, "r1", 10_700, ended(returned)) }, "no cause"},
		"ended, and it never was":          {func(w *world) { w.operations[4].Attempts[0].Answer = ended(cancelled) }, "lost"},
		"ended, and had never been sent":   {func(w *world) { w.operations[0].Attempts = []Attempt{tried(700, ended(returned))} }, "replay"},
		"committed before, by nobody": {func(w *world) {
			w.of(Cancel, "r4").Attempts[0].Answer = Answer{Status: 409, Code: client.AlreadyCommitted, States: States{"a": committed, "b": committed}}
		}, "no cause"},
		"a return that finds no live one":  {func(w *world) { w.of(Return, "r1").Attempts[0].Answer = refuse(client.NotReserved) }, "no reason"},
		"one SKU is said to be of several": {func(w *world) { w.of(Commit, "r2").Attempts[0].Answer = refuse(client.PartOfOrder) }, "no reason"},
		"an order is not found":            {func(w *world) { w.of(Extend, "r3").Attempts[0].Answer = Answer{Status: 404, Code: client.UnknownOrder} }, "lost"},
		"not taken again, beside stock": {func(w *world) {
			w.of(Commit, "r2").Attempts[0].Answer = Answer{Status: 409, Code: client.NotReserved, State: expired}
			w.row("b", "r2").State, w.row("b", "r2").Committed = expired, time.Time{}
			w.rows.SKUs[1].Available = 7
		}, "false refusal"},
	})
}

func TestNoComplaintsAboutSettlements(t *testing.T) {
	t.Parallel()
	wantNoComplaints(t, settled, map[string]func(w *world){
		"an order sent again after its end": func(w *world) {
			w.again(Deduct, "r1", 10_900, Answer{Status: 409, Code: client.OrderEnded, State: returned, Quantity: 1})
			w.again(Deduct, "r2", 21_200, Answer{Status: 409, Code: client.OrderEnded, State: expired, Quantity: 2})
			w.again(Order, "r4", 40_300, Answer{Status: 409, Code: client.OrderEnded, States: States{"a": cancelled, "b": cancelled}})
		},
		"an order of which a line is left": func(w *world) {
			w.again(Order, "r3", 31_300, Answer{Status: 200, Quantity: 2, States: States{"a": committed, "b": returned}})
		},
		"all of it returned once more": func(w *world) { w.again(Return, "r1", 12_000, Answer{Status: 200, State: returned, Quantity: 1}) },
		"a cancel that comes too late": func(w *world) {
			w.did(Operation{Kind: Cancel, ID: "r2", Lines: []Line{{SKU: "b"}}},
				tried(22_000, Answer{Status: 409, Code: client.AlreadyCommitted, State: committed, Quantity: 2}))
		},
		"expiring while an answer is made": func(w *world) {
			w.of(Cancel, "r4").Kind = Read
			w.of(Read, "r4").Attempts[0] = tried(41_000, Answer{Status: 200, Quantity: 2, States: States{"a": reserved, "b": expired}})
			for _, sku := range []string{"a", "b"} {
				w.row(sku, "r4").State, w.row(sku, "r4").Ended = expired, time.Time{}
			}
		},
		"a commit without an answer, of which nobody knows": func(w *world) { w.of(Commit, "r2").Attempts[0].Answer = Answer{} },
		"not taken again, as others have the units": func(w *world) {
			w.of(Commit, "r2").Attempts[0].Answer = Answer{Status: 409, Code: client.NotReserved, State: expired}
			w.row("b", "r2").State, w.row("b", "r2").Committed = expired, time.Time{}
			w.operations = append(w.operations, Operation{Kind: Deduct, ID: "rest", Lines: []Line{{"b", 7}}, Attempts: []Attempt{tried(21_100, accept(committed, 7))}})
			w.rows.Deductions = append(w.rows.Deductions, Deduction{SKU: "b", ID: "rest", Asked: 7, Quantity: 7, State: committed, Created: at(21_105)})
			w.forget("r3")
			w.forget("r4")
			w.rows.SKUs[0].Available, w.rows.SKUs[1].Available = 10, 0
		},
	})
}

// forget leaves an order out of a history, as if it had never been.
func (w *world) forget(id string) {
	w.operations = slices.DeleteFunc(w.operations, func(o Operation) bool { return o.ID == id })
	w.rows.Deductions = slices.DeleteFunc(w.rows.Deductions, func(d Deduction) bool { return d.ID == id })
	w.rows.Amendments = slices.DeleteFunc(w.rows.Amendments, func(a Amendment) bool { return a.ID == id })
	w.rows.Movements = slices.DeleteFunc(w.rows.Movements, func(m Movement) bool { return strings.HasPrefix(m.Ref, id+"\x1e") })
}
