package history

import (
	"testing"
	"time"

	"inventory/internal/api/client"
)

// revised is a good history with an order r of one of a and two of b for eve, of which the first change wants two of a and the second, after
// which the first is sent again, one of each for bob. The order s is committed with one of its two lines.
func revised() *world {
	w := good()
	both := []Line{{"a", 1}, {"b", 2}}
	for _, id := range []string{"r", "s"} {
		w.did(Operation{Kind: Order, ID: id, Buyer: "eve", Lines: both, ReserveFor: time.Minute},
			tried(10_000, Answer{Status: 201, Quantity: 3, States: States{"a": reserved, "b": reserved}}))
	}
	w.did(Operation{Kind: Change, ID: "r", Ref: "c1", Lines: []Line{{"a", 2}}},
		tried(11_000, Answer{Status: 200, Quantity: 2, States: States{"a": reserved}}), tried(13_000, Answer{Status: 200, Quantity: 2, States: States{"a": reserved, "b": reserved}}))
	w.did(Operation{Kind: Change, ID: "r", Ref: "c2", Lines: []Line{{"b", 1}, {"a", 1}}, Hands: "bob"},
		tried(12_000, Answer{Status: 200, Quantity: 2, States: States{"a": reserved, "b": reserved}}))
	w.did(Operation{Kind: Commit, ID: "r", Lines: both}, tried(14_000, Answer{Status: 200, Quantity: 2, States: States{"a": committed, "b": committed}}))
	w.did(Operation{Kind: Commit, ID: "s", Only: true, Lines: both[:1]}, tried(11_000, Answer{Status: 200, Quantity: 1, States: States{"a": committed}}))
	row := func(sku, id, buyer string, asked, units int64, state string) Deduction {
		return Deduction{SKU: sku, ID: id, Buyer: buyer, Asked: asked, Quantity: units, State: state, Created: at(10_005), Expires: at(70_005)}
	}
	w.rows.Deductions = append(w.rows.Deductions,
		row("a", "r", "bob", 1, 1, committed), row("b", "r", "bob", 2, 1, committed), row("a", "s", "eve", 1, 1, committed), row("b", "s", "eve", 2, 2, cancelled))
	w.rows.Deductions[len(w.rows.Deductions)-1].Removed = true
	w.rows.Changes = []OrderChange{
		{ID: "r", Ref: "c1", Lines: `[{"sku":"a","quantity":2}]`, Created: at(11_005)},
		{ID: "r", Ref: "c2", Lines: `[{"sku":"a","quantity":1},{"sku":"b","quantity":1}]`, Buyer: "bob", Created: at(12_005)},
	}
	w.rows.Amendments = []Amendment{
		{SKU: "b", ID: "r", Ref: "c1", Kind: "cancel", Returned: 2, Created: at(11_005)},
		{SKU: "a", ID: "r", Ref: "c2", Kind: "cancel", Returned: 1, Created: at(12_005)},
	}
	w.rows.Additions = []Addition{{"a", "r", 1}, {"b", "r", 1}}
	w.rows.SKUs[0].Available, w.rows.SKUs[1].Available = 8, 7
	return w
}

func TestComplaintsAboutChanges(t *testing.T) {
	t.Parallel()
	wantComplaints(t, revised, map[string]complaint{
		"a change is not there":     {func(w *world) { w.rows.Changes = w.rows.Changes[1:] }, "lost"},
		"a change to other lines":   {func(w *world) { w.rows.Changes[0].Lines = `[{"sku":"b","quantity":2}]` }, "different"},
		"a change for nobody else":  {func(w *world) { w.rows.Changes[1].Buyer = "" }, "different"},
		"a change that nobody sent": {func(w *world) { w.rows.Changes[0].Ref = "c3" }, "from nowhere"},
		"a change that was refused": {func(w *world) { w.of(Change, "r").Attempts = []Attempt{tried(11_000, refuse(client.SoldOut))} }, "amendment"},
		"a change after the end": {func(w *world) {
			w.of(Change, "r").Attempts = []Attempt{tried(9_000, refuse(client.OrderEnded)), tried(11_000, Answer{Status: 503})}
		}, "not final"},
		"a change long after its request": {func(w *world) { w.rows.Changes[1].Created = at(19_000) }, "late"},
		"the lines of the change before": {func(w *world) {
			w.row("a", "r").Quantity, w.row("b", "r").State = 2, returned
			w.rows.Additions = append(w.rows.Additions, Addition{"a", "r", 1})
			w.rows.SKUs[0].Available, w.rows.SKUs[1].Available = 7, 8
		}, "amendment"},
		"the buyer of before":      {func(w *world) { w.row("a", "r").Buyer = "eve" }, "different"},
		"a half of it":             {func(w *world) { w.row("b", "r").State = reserved }, "half"},
		"units that nobody added":  {func(w *world) { w.rows.Additions = nil }, "amendment"},
		"no reason for a refusal":  {func(w *world) { w.of(Change, "r").Attempts[1].Answer = refuse(client.NotReserved) }, "no reason"},
		"a released line is there": {func(w *world) { w.row("b", "s").Removed = false }, "half"},
	})
}

func TestNoComplaintsAboutChanges(t *testing.T) {
	t.Parallel()
	wantNoComplaints(t, revised, map[string]func(w *world){
		"a change is refused": func(w *world) {
			w.did(Operation{Kind: Change, ID: "r", Ref: "c4", Lines: []Line{{"b", 90}}}, tried(15_000, refuse(client.InsufficientStock)))
		},
		"a change is sent again after the end": func(w *world) {
			w.did(Operation{Kind: Change, ID: "r", Ref: "c1", Lines: []Line{{"a", 2}}}, tried(16_000, refuse(client.OrderEnded)))
		},
		"a unit is returned after it": func(w *world) {
			w.did(Operation{Kind: Return, ID: "r", Ref: "b1", Lines: []Line{{"b", 1}}}, tried(15_000, Answer{Status: 200, State: returned, Quantity: 1}))
			w.rows.Amendments = append(w.rows.Amendments, Amendment{SKU: "b", ID: "r", Ref: "b1", Kind: "return", Returned: 1, Created: at(15_005)})
			w.row("b", "r").State = returned
			w.rows.SKUs[1].Available++
		},
		"a payment is for fewer units than a change took": func(w *world) {
			w.did(Operation{Kind: Change, ID: "s", Ref: "c5", Lines: []Line{{"a", 2}, {"b", 2}}}, tried(10_500, Answer{Status: 503}))
			w.rows.Changes = append(w.rows.Changes, OrderChange{ID: "s", Ref: "c5", Lines: `[{"sku":"a","quantity":2},{"sku":"b","quantity":2}]`, Created: at(10_505)})
			w.rows.Additions = append(w.rows.Additions, Addition{"a", "s", 1})
		},
	})
}
