package history

import (
	"testing"
	"time"
)

// amended is a good history in which o2 was extended by two seconds before its end, and o1 gave a unit back, after an attempt
// without an answer.
func amended() *world {
	w := good()
	w.operations[2].Attempts = []Attempt{tried(4000, Answer{Status: 200, State: expired, Quantity: 3, Expires: at(3005)})}
	w.did(Operation{Kind: Extend, ID: "o2", Ref: "e1", Lines: []Line{{SKU: "a"}}, ReserveFor: 2 * time.Second},
		tried(1000, Answer{Status: 200, State: reserved, Quantity: 3, Expires: at(3005)}))
	w.did(Operation{Kind: Return, ID: "o1", Ref: "b1", Lines: []Line{{"a", 1}}},
		Attempt{Sent: at(3000), Ended: at(3600)}, tried(3700, Answer{Status: 200, State: committed, Quantity: 3}))
	w.rows.Amendments = []Amendment{
		{SKU: "a", ID: "o2", Ref: "e1", Kind: "extend", Extended: 2 * time.Second, Created: at(1005)},
		{SKU: "a", ID: "o1", Ref: "b1", Kind: "return", Returned: 1, Created: at(3500)},
	}
	w.rows.Deductions[1].Expires = at(3005)
	w.rows.Deductions[0].Quantity, w.rows.SKUs[0].Available = 3, 11
	return w
}

const (
	extension = 6 // of the operations
	giveBack  = 7
)

func TestComplaintsAboutAmendments(t *testing.T) {
	t.Parallel()
	wantComplaints(t, amended, map[string]complaint{
		"a return is not there":          {func(w *world) { w.rows.Amendments = w.rows.Amendments[:1] }, "amendment"},
		"an extension is not there":      {func(w *world) { w.rows.Amendments = w.rows.Amendments[1:] }, "amendment"},
		"a return of other units":        {func(w *world) { w.rows.Amendments[1].Returned = 2 }, "amendment"},
		"an extension of other time":     {func(w *world) { w.rows.Amendments[0].Extended = time.Second }, "amendment"},
		"a return counts twice":          {func(w *world) { w.rows.Deductions[0].Quantity, w.rows.SKUs[0].Available = 2, 12 }, "amendment"},
		"a return does not count":        {func(w *world) { w.rows.Deductions[0].Quantity, w.rows.SKUs[0].Available = 4, 10 }, "amendment"},
		"a return refused, and there":    {func(w *world) { w.operations[giveBack].Attempts = []Attempt{tried(3000, refuse("not_committed"))} }, "amendment"},
		"a return for no reason refused": {func(w *world) { w.operations[giveBack].Attempts[1].Answer = Answer{Status: 422, Code: "ref_reused"} }, "no reason"},
		"a return has two rows":          {func(w *world) { w.rows.Amendments = append(w.rows.Amendments, w.rows.Amendments[1]) }, "twice"},
		"a return nobody asked for":      {func(w *world) { w.operations = w.operations[:giveBack] }, "from nowhere"},
		"a return after its time":        {func(w *world) { w.rows.Amendments[1].Created = at(6500) }, "late"},
		"an extension does not last":     {func(w *world) { w.rows.Deductions[1].Expires = at(2900) }, "too early"},
		"an extension lasts longer":      {func(w *world) { w.rows.Deductions[1].Expires = at(3100) }, "different"},
		"expired before its new end":     {func(w *world) { w.operations[2].Attempts[0] = tried(2500, Answer{Status: 200, State: expired}) }, "too early"},
		"a later end was told":           {func(w *world) { w.operations[extension].Attempts[0].Answer.Expires = at(3300) }, "too early"},
		"not reserved before its new end": {func(w *world) {
			w.operations = append(w.operations, Operation{Kind: Extend, ID: "o2", Ref: "e2", Lines: []Line{{SKU: "a"}}, Attempts: []Attempt{tried(2000, refuse("not_reserved"))}})
		}, "too early"},
		"extended after its end": {func(w *world) {
			w.operations[extension].Attempts[0] = tried(1900, Answer{Status: 200, State: reserved, Quantity: 3, Expires: at(3905)})
			w.rows.Amendments[0].Created, w.rows.Deductions[1].Expires = at(1905), at(3905)
		}, "too late"},
	})
}

func TestNoComplaintsAboutAmendments(t *testing.T) {
	t.Parallel()
	wantNoComplaints(t, amended, map[string]func(w *world){
		"a return asked for again": func(w *world) {
			w.did(w.operations[giveBack], tried(5000, Answer{Status: 200, State: committed, Quantity: 3}))
		},
		"a replay of an order that has returned a unit": func(w *world) {
			w.again(Deduct, "o1", 5000, Answer{Status: 200, State: committed, Quantity: 3})
		},
		"an extension to an earlier end": func(w *world) {
			w.did(Operation{Kind: Extend, ID: "o2", Ref: "e2", Lines: []Line{{SKU: "a"}}, ReserveFor: time.Second},
				tried(1200, Answer{Status: 200, State: reserved, Quantity: 3, Expires: at(3005)}))
			w.rows.Amendments = append(w.rows.Amendments, Amendment{SKU: "a", ID: "o2", Ref: "e2", Kind: "extend", Extended: time.Second, Created: at(1205)})
		},
		"an extension of what was committed": func(w *world) {
			w.operations = append(w.operations, Operation{Kind: Extend, ID: "o1", Ref: "e2", Lines: []Line{{SKU: "a"}}, Attempts: []Attempt{tried(2000, refuse("not_reserved"))}})
		},
		"a return that nobody knows of, and that was not": func(w *world) {
			w.operations[giveBack].Attempts = w.operations[giveBack].Attempts[:1]
			w.rows.Amendments = w.rows.Amendments[:1]
			w.rows.Deductions[0].Quantity, w.rows.SKUs[0].Available = 4, 10
		},
		"a return after the end": func(w *world) {
			w.operations = append(w.operations, Operation{Kind: Return, ID: "o2", Ref: "b2", Lines: []Line{{"a", 1}}, Attempts: []Attempt{tried(3500, refuse("not_committed"))}})
		},
	})
}
