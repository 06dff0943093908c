package history

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inventory/internal/api/client"
)

// world is a small history without a fault, and its rows: what a test changes in it is what the checker has to name.
type world struct {
	operations []Operation
	rows       Rows
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is an instant, in milliseconds since the start.
func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

// tried is an attempt that took 10 ms, without a deadline.
func tried(ms int, a Answer) Attempt { return Attempt{Sent: at(ms), Ended: at(ms + 10), Answer: a} }

func accept(state string, quantity int64) Answer {
	return Answer{Status: 201, State: state, Quantity: quantity}
}

func refuse(code client.Code) Answer { return Answer{Status: 409, Code: code} }

// a good history: "a" has 10 units, of which o1 takes 4 after an attempt without an answer; o2 reserves 3 for a second, and
// expires; o3 is an order of a and b; o4 is refused. A restock brings 5.
func good() *world {
	w := &world{}
	w.operations = []Operation{
		{Kind: Deduct, ID: "o1", Buyer: "ann", Lines: []Line{{"a", 4}}, Attempts: []Attempt{
			{Sent: at(0), Ended: at(600), Deadline: at(600)}, tried(700, accept(committed, 4)),
		}},
		{Kind: Deduct, ID: "o2", Buyer: "bob", Lines: []Line{{"a", 3}}, ReserveFor: time.Second, Attempts: []Attempt{
			tried(800, Answer{Status: 201, State: reserved, Quantity: 3, Expires: at(1805)}),
		}},
		{Kind: Read, ID: "o2", Lines: []Line{{SKU: "a"}}, Attempts: []Attempt{tried(2000, Answer{Status: 200, State: expired, Quantity: 3})}},
		{Kind: Order, ID: "o3", Buyer: "ann", Lines: []Line{{"a", 1}, {"b", 2}}, Attempts: []Attempt{tried(2100, Answer{Status: 201, Quantity: 3})}},
		{Kind: Deduct, ID: "o4", Buyer: "carl", Lines: []Line{{"a", 9}}, Attempts: []Attempt{tried(2200, refuse("insufficient_stock"))}},
		{Kind: Restock, ID: "r1", Lines: []Line{{"a", 5}}, Attempts: []Attempt{tried(9000, Answer{Status: 201})}},
	}
	w.rows = Rows{
		Deductions: []Deduction{
			{SKU: "a", ID: "o1", Buyer: "ann", Asked: 4, Quantity: 4, State: committed, Created: at(705)},
			{SKU: "a", ID: "o2", Buyer: "bob", Asked: 3, Quantity: 3, State: expired, Created: at(805), Expires: at(1805)},
			{SKU: "a", ID: "o3", Buyer: "ann", Asked: 1, Quantity: 1, State: committed, Created: at(2105)},
			{SKU: "b", ID: "o3", Buyer: "ann", Asked: 2, Quantity: 2, State: committed, Created: at(2105)},
		},
		Movements: []Movement{{"a", "r1", "restock", 5}},
		SKUs:      []SKU{{Name: "a", Initial: 10, Available: 10}, {Name: "b", Initial: 10, Available: 8}},
		At:        at(60_000),
	}
	return w
}

// did adds an operation with its attempts.
func (w *world) did(o Operation, attempts ...Attempt) {
	o.Attempts = attempts
	w.operations = append(w.operations, o)
}

// last adds an order that no other competes with.
func (w *world) last(sku string, quantity int64, a Answer) {
	w.did(Operation{Kind: Deduct, ID: "last", Lines: []Line{{sku, quantity}}}, tried(50_000, a))
}

// about adds operations on o2, a reservation that ends at 1805.
func (w *world) about(kind Kind, ms int, a Answer) {
	w.did(Operation{Kind: kind, ID: "o2", Lines: []Line{{SKU: "a"}}}, tried(ms, a))
}

func (w *world) findings() Findings {
	return Check(w.operations, w.rows, Promise{
		Stocks: map[string]Stock{"a": {Units: 10, BuyerLimit: 5}, "b": {Units: 10}}, AnswerWithin: 2 * time.Second, Staleness: time.Second, Sweep: 10 * time.Second,
	})
}

// TestEveryPromiseHasItsTries: what is reported as kept was tried, and no violation is of a promise that is not told.
func TestEveryPromiseHasItsTries(t *testing.T) {
	t.Parallel()
	lab, err := os.ReadFile("../../../docs/LAB.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, p := range Promises() {
		for _, name := range p.Names {
			told[name] = true
			if !strings.Contains(string(lab), "`"+name+"`") {
				t.Errorf("docs/LAB.md does not tell %q", name)
			}
		}
	}
	found, tried := regexp.MustCompile(`(violated\([^"\n]*|Violation\{\{Name: |tries\()"([a-z A-Z]+)"`), map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found.FindAllStringSubmatch(string(text), -1) {
			if tried[name[2]] = tried[name[2]] || name[1] == "tries("; !told[name[2]] && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s: %q is of no promise", file, name[2])
			}
		}
	}
	for _, p := range Promises() {
		if !tried[p.Names[0]] {
			t.Errorf("nobody counts how often %q is tried", p.Names[0])
		}
	}
	if got := good().findings().Tried; got["lost"] != 5 || got["replay"] != 1 || got["half"] != 1 || got["oversold"] != 2 || got["late"] != 4 {
		t.Errorf("got the tries %v", got)
	}
}

func (w *world) check() []Violation { return w.findings().Violations }

// complaint is a change of a history, and the promise that it breaks.
type complaint struct {
	spoil func(w *world)
	name  string
}

// wantComplaints demands that each change of a history is complained about by its name.
func wantComplaints(t *testing.T, history func() *world, all map[string]complaint) {
	t.Helper()
	for about, c := range all {
		w := history()
		c.spoil(w)
		if broken := w.check(); !slices.ContainsFunc(broken, func(v Violation) bool { return v.Name == c.name }) {
			t.Errorf("%s: want %q, got %v", about, c.name, broken)
		}
	}
}

// wantNoComplaints demands that neither a history nor what a change makes of it is complained about.
func wantNoComplaints(t *testing.T, history func() *world, changes map[string]func(w *world)) {
	t.Helper()
	changes["nothing"] = func(*world) {}
	for about, change := range changes {
		w := history()
		change(w)
		if broken := w.check(); len(broken) > 0 {
			t.Errorf("%s: complaints: %v", about, broken)
		}
	}
}

// Each complaint, by its name and for what it is about. A service that does this is caught.
func TestComplaints(t *testing.T) {
	t.Parallel()
	wantComplaints(t, good, map[string]complaint{
		"a row is gone":              {func(w *world) { w.rows.Deductions = w.rows.Deductions[1:] }, "lost"},
		"a read finds nothing":       {func(w *world) { w.operations[2].Attempts[0].Answer = Answer{Status: 404, Code: "unknown_deduction"} }, "lost"},
		"a row has other units":      {func(w *world) { w.rows.Deductions[0].Asked = 5 }, "different"},
		"a row is another buyer's":   {func(w *world) { w.rows.Deductions[0].Buyer = "eve" }, "different"},
		"a reservation is shorter":   {func(w *world) { w.rows.Deductions[1].Expires = at(1700) }, "different"},
		"a replay is other units":    {func(w *world) { w.again(Deduct, "o1", 900, Answer{Status: 200, State: committed, Quantity: 3}) }, "different"},
		"refused, and written":       {func(w *world) { w.operations[0].Attempts[1].Answer = refuse("sold_out") }, "not final"},
		"accepted, then refused":     {func(w *world) { w.again(Deduct, "o1", 4000, refuse("buyer_limit")) }, "not final"},
		"accepted, then sold out":    {func(w *world) { w.again(Deduct, "o1", 4000, refuse("insufficient_stock")) }, "not final"},
		"written after the deadline": {func(w *world) { w.operations[0].Attempts = w.operations[0].Attempts[:1] }, "late"},
		"written long after":         {func(w *world) { w.rows.Deductions[3].Created = at(4200) }, "late"},
		"nobody's row": {func(w *world) {
			w.rows.Deductions = append(w.rows.Deductions, Deduction{SKU: "b", ID: "o9", State: committed, Quantity: 1})
		}, "from nowhere"},
		"refused beside stock": {func(w *world) { w.operations[4].Lines[0].Quantity = 2 }, "false refusal"},
		"refused after a restock": {func(w *world) {
			w.operations[4].Attempts[0] = tried(11_000, refuse("sold_out"))
			w.operations[4].Lines[0].Quantity = 6
		}, "false refusal"},
		"units are lost":          {func(w *world) { w.rows.SKUs[0].Available-- }, "missing"},
		"units are there twice":   {func(w *world) { w.rows.SKUs[0].Available++ }, "oversold"},
		"units below none":        {func(w *world) { w.rows.SKUs[1].Available = -1 }, "oversold"},
		"another stock":           {func(w *world) { w.rows.SKUs[1].Initial, w.rows.SKUs[1].Available = 11, 9 }, "no such SKU"},
		"a SKU is not there":      {func(w *world) { w.rows.SKUs = w.rows.SKUs[:1] }, "no such SKU"},
		"half an order":           {func(w *world) { w.rows.Deductions = w.rows.Deductions[:3] }, "half"},
		"above the limit":         {func(w *world) { w.rows.Deductions[1].Buyer, w.rows.Deductions[1].State = "ann", reserved }, "buyer limit"},
		"expired, then committed": {func(w *world) { w.rows.Deductions[1].State = committed }, "undone"},
		"cancelled, then committed": {func(w *world) {
			w.did(Operation{Kind: Cancel, ID: "o1", Lines: []Line{{SKU: "a"}}}, tried(3000, Answer{Status: 200, State: cancelled}))
			w.did(Operation{Kind: Read, ID: "o1", Lines: []Line{{SKU: "a"}}}, tried(3100, Answer{Status: 200, State: committed}))
			w.rows.Deductions[0].State = cancelled
		}, "undone"},
		"expired before its time":    {func(w *world) { w.operations[2].Attempts[0] = tried(1000, Answer{Status: 200, State: expired}) }, "too early"},
		"a restock is not there":     {func(w *world) { w.rows.Movements = nil }, "ledger"},
		"a restock is there twice":   {func(w *world) { w.rows.Movements = append(w.rows.Movements, w.rows.Movements[0]) }, "ledger"},
		"an order has two rows":      {func(w *world) { w.rows.Deductions = append(w.rows.Deductions, w.rows.Deductions[0]) }, "twice"},
		"a token went back":          {func(w *world) { w.rows.SKUs[0].FencesFell = 1 }, "fence"},
		"the audit complains":        {func(w *world) { w.rows.Audit = []string{"parts do not add up"} }, "audit"},
		"units nobody can buy":       {func(w *world) { w.last("b", 8, refuse("insufficient_stock")) }, "stranded"},
		"sold out beside units":      {func(w *world) { w.last("b", 9, refuse("sold_out")) }, "false refusal"},
		"an answer of other units":   {func(w *world) { w.operations[1].Attempts[0].Answer.Quantity = 2 }, "different"},
		"accepted twice":             {func(w *world) { w.again(Deduct, "o1", 900, accept(committed, 4)) }, "replay"},
		"a replay of what never was": {func(w *world) { w.operations[1].Attempts[0].Answer.Status = 200 }, "replay"},
		"a restock refused":          {func(w *world) { w.operations[5].Attempts[0].Answer = Answer{Status: 404, Code: "unknown_sku"} }, "no reason"},
		"an order not let in":        {func(w *world) { w.operations[4].Attempts[0].Answer = Answer{Status: 401, Code: "unauthenticated"} }, "no reason"},
		"a restock of other units":   {func(w *world) { w.rows.Movements[0].Quantity = 4 }, "ledger"},
		"a restock nobody asked for": {func(w *world) { w.rows.Movements = append(w.rows.Movements, Movement{"a", "r2", "restock", 1}) }, "from nowhere"},
		"a commit is not kept": {func(w *world) {
			w.rows.Deductions[1].State = reserved
			w.operations = slices.Delete(w.operations, 2, 3)
			w.about(Commit, 900, Answer{Status: 200})
		}, "undone"},
		"not reserved before its time": {func(w *world) { w.about(Commit, 1000, refuse("not_reserved")) }, "too early"},
		"reserved after its time":      {func(w *world) { w.about(Read, 1910, Answer{Status: 200, State: reserved}) }, "too late"},
		"committed after its time":     {func(w *world) { w.about(Commit, 1900, Answer{Status: 200}) }, "too late"},
		"reserved long after its time": {func(w *world) { w.rows.Deductions[1].State = reserved }, "too late"},
	})
}

// Permitted behaviour of a service is no violation.
func TestNoComplaints(t *testing.T) {
	t.Parallel()
	wantNoComplaints(t, good, map[string]func(w *world){
		"a refusal while another attempt may still be carried out": func(w *world) {
			o := &w.operations[0]
			o.Attempts[1] = Attempt{Sent: at(100), Ended: at(110), Answer: refuse("sale_closed")}
			w.rows.Deductions[0].Created = at(500)
		},
		"an attempt without an answer that was carried out": func(w *world) { w.operations[0].Attempts = []Attempt{{Sent: at(0), Ended: at(800)}} },
		"a refusal soon after a restock": func(w *world) {
			w.operations[4].Attempts[0] = tried(9500, refuse("insufficient_stock"))
			w.operations[4].Lines[0].Quantity = 6
		},
		"a replay under the same id by another operation": func(w *world) {
			w.did(w.operations[0], tried(5000, Answer{Status: 200, State: committed, Quantity: 4}))
		},
		"who was refused asks again, and there is stock": func(w *world) {
			w.operations[0].Attempts[0] = tried(0, refuse("buyer_limit"))
		},
		"refused what is left, while more was coming back": func(w *world) {
			w.last("b", 9, refuse("insufficient_stock"))
			w.did(Operation{Kind: Return, ID: "o3", Lines: []Line{{SKU: "a"}, {SKU: "b"}}}, Attempt{Sent: at(49_900), Ended: at(51_000)})
			for i := range w.rows.Deductions[2:] {
				row := &w.rows.Deductions[2+i]
				row.State, row.Ended = returned, at(50_500)
				w.rows.Amendments = append(w.rows.Amendments, Amendment{SKU: row.SKU, ID: "o3", Kind: "return", Returned: row.Quantity, Created: at(50_500)})
			}
			w.rows.SKUs[0].Available, w.rows.SKUs[1].Available = 11, 10
		},
		"a commit in time, told again later": func(w *world) {
			w.operations = slices.Delete(w.operations, 2, 3)
			w.about(Commit, 1700, Answer{Status: 200, State: committed})
			w.about(Commit, 2900, Answer{Status: 200, State: committed})
			w.rows.Deductions[1].State, w.rows.Deductions[1].Committed = committed, at(1705)
			w.rows.SKUs[0].Available -= 3
		},
		"refused before it is over":                          func(w *world) { w.about(Cancel, 2900, Answer{Status: 200, State: expired}) },
		"a replay refused by who has not heard of a restock": func(w *world) { w.again(Deduct, "o1", 1500, refuse("insufficient_stock")) },
		"a busy service": func(w *world) {
			w.operations[4].Attempts = []Attempt{tried(2200, Answer{Status: 503, Code: "overloaded"})}
		},
	})
}

// A complaint shows the operation with its attempts.
func TestComplaintsShowTheirOperation(t *testing.T) {
	t.Parallel()
	w := good()
	w.rows.Deductions = w.rows.Deductions[1:]
	text := fmt.Sprint(w.check()[0])
	for _, want := range []string{"lost", `deduct "o1"`, "03:04:05.000", "deadline after 600ms", "201"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %s", text, want)
		}
	}
}

// Of ten units three are sold between 30 and 50 ms, and four between 10 and 20.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	sale := func(id string, from, to int, units int64) Operation {
		return Operation{Kind: Deduct, ID: id, Lines: []Line{{"a", units}}, Attempts: []Attempt{{Sent: at(from), Ended: at(to), Answer: accept(committed, units)}}}
	}
	for about, c := range map[string]struct {
		ms    int // of the answer
		units int64
		code  client.Code
		want  Bounds
	}{
		"before anything was sent":   {5, 10, client.InsufficientStock, Bounds{1, 1}},
		"more than there ever was":   {5, 11, client.InsufficientStock, Bounds{0, 0}},
		"while the first is sold":    {15, 7, client.InsufficientStock, Bounds{0, 1}},
		"when the first was sold":    {20, 7, client.InsufficientStock, Bounds{0, 0}},
		"what is left of it":         {20, 6, client.InsufficientStock, Bounds{1, 1}},
		"while the second is sold":   {40, 4, client.InsufficientStock, Bounds{0, 1}},
		"less than is left of both":  {40, 3, client.InsufficientStock, Bounds{1, 1}},
		"when the second was sold":   {50, 4, client.InsufficientStock, Bounds{0, 0}},
		"at the end, what was there": {90, 3, client.InsufficientStock, Bounds{1, 1}},
		"sold out, and three left":   {90, 9, client.SoldOut, Bounds{1, 1}},
		"another reason":             {90, 1, client.BuyerLimit, Bounds{0, 0}},
	} {
		w := world{operations: []Operation{sale("o1", 30, 50, 3), sale("o2", 10, 20, 4), {
			Kind: Deduct, ID: "o3", Lines: []Line{{"a", c.units}}, Attempts: []Attempt{{Sent: at(0), Ended: at(c.ms), Answer: refuse(c.code)}},
		}}}
		w.rows = Rows{
			Deductions: []Deduction{
				{SKU: "a", ID: "o1", Asked: 3, Quantity: 3, State: committed, Created: at(40)},
				{SKU: "a", ID: "o2", Asked: 4, Quantity: 4, State: committed, Created: at(15)},
			},
			SKUs: []SKU{{Name: "a", Initial: 10, Available: 3}, {Name: "b", Initial: 10, Available: 10}},
		}
		found := w.findings().Refusals["a"]
		stranded := map[bool]int64{true: 3}[c.units <= 3 && c.code != client.BuyerLimit]
		if found.False != c.want || found.Stranded != stranded {
			t.Errorf("%s: %+v, %d stranded", about, found.False, found.Stranded)
		}
	}
}

// A true refusal is never proven false, and a false one never passes for true: histories of which everything is known.
func TestNoTrueRefusalIsProvenFalse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		moment := func(from int, name string) int { return rapid.IntRange(from, 60).Draw(t, name) }
		w := world{}
		left := int64(rapid.IntRange(0, 10).Draw(t, "left in the end"))
		stock, atRefusal := left, left
		refused, wanted := moment(0, "refused"), int64(rapid.IntRange(1, 20).Draw(t, "wanted"))
		for i := range rapid.IntRange(0, 12).Draw(t, "sales") {
			from := moment(0, "from")
			when := moment(from, "at")
			to, units := moment(when, "to"), int64(rapid.IntRange(1, 5).Draw(t, "units"))
			id := fmt.Sprint("o", i)
			w.did(Operation{Kind: Deduct, ID: id, Lines: []Line{{"a", units}}}, Attempt{Sent: at(from), Ended: at(to), Answer: accept(committed, units)})
			w.rows.Deductions = append(w.rows.Deductions, Deduction{SKU: "a", ID: id, Asked: units, Quantity: units, State: committed, Created: at(when)})
			stock += units
			if when > refused {
				atRefusal += units
			}
		}
		w.did(Operation{Kind: Deduct, ID: "refused", Lines: []Line{{"a", wanted}}},
			Attempt{Sent: at(-5000), Ended: at(refused), Answer: refuse(client.InsufficientStock)})
		w.rows.SKUs = []SKU{{Name: "a", Initial: stock, Available: left}}
		found := Check(w.operations, w.rows, Promise{AnswerWithin: time.Second, Staleness: time.Second}).Refusals["a"]
		if wasFalse := wanted <= atRefusal; found.False.Least > 0 && !wasFalse || found.False.Most == 0 && wasFalse {
			t.Fatalf("%+v, and %d were left for %d", found.False, atRefusal, wanted)
		}
	})
}

func TestViolationsAreToldByName(t *testing.T) {
	t.Parallel()
	all := []Violation{{Name: "lost", What: "1"}, {Name: "lost", What: "2"}, {Name: "lost", What: "3"}, {Name: "lost", What: "4"}, {Name: "twice", What: "5"}}
	if got := strings.Join(Describe(all), ", "); got != "lost: 1, lost: 2, lost: 3, lost: and 1 more, twice: 5" {
		t.Error(got)
	}
}
