package contenders

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/report"
)

// played is an entrant that has sold so many in each second.
func played(name string, accepted ...int64) *entrant {
	e := &entrant{name: name, ours: strings.HasPrefix(name, inventoryName), callers: 512}
	for i, n := range accepted {
		e.rounds = append(e.rounds, round{
			sku: name + string(rune('a'+i)), counts: crowd.Counts{Accepted: n, Refused: 10}, took: time.Second,
			p50: time.Duration(i+1) * time.Millisecond, p99: 10 * time.Millisecond,
		})
	}
	return e
}

func sample() Result {
	c := Case{Name: "in process", ratio: inventoryName, about: inventoryName, SKUs: 6}
	failed := played(luaName)
	failed.failed = errors.New("it hung")
	rows := map[string]int64{inventoryName + "a": 200, inventoryName + "b": 100, inventoryName + "c": 300}
	c.Entries = entries([]*entrant{played(inventoryName, 200, 100, 300), played(textbookName, 10, 4, 20), failed}, rows, inventoryName)
	c.Targets = inProcessTargets(c, Full())
	return Result{Cases: []Case{c}}
}

func TestFiguresAreMediansOfRounds(t *testing.T) {
	t.Parallel()
	all := sample().Cases[0].Entries
	ours, book := all[0], all[1]
	if ours.Accepted != 200 || ours.Answers != 210 || ours.Spread != (Spread{100, 300}) || ours.P50 != 2 || ours.Rows != 600 ||
		ours.Counts.Accepted != 600 || ours.Refused != 30 || ours.Ratio != 1 {
		t.Errorf("%+v", ours)
	}
	// 10/200, 4/100 and 20/300: the median is that of pairs.
	if book.Ratio != 0.05 || book.RatioTo != inventoryName {
		t.Errorf("%+v", book)
	}
}

func TestTargetsSayWhatWasMissed(t *testing.T) {
	t.Parallel()
	targets := sample().Cases[0].Targets
	if len(targets) != 2 || targets[0].Value != 20 || !targets[0].Met || targets[1].Met {
		t.Errorf("%v", targets)
	}
}

func TestWhatOursMayNotDo(t *testing.T) {
	t.Parallel()
	r := sample() // in which a peer has failed, which is its own affair
	if err := r.Err(); err != nil || !r.AuditOK() {
		t.Error(err)
	}
	r.Cases[0].Entries[0].Note = "it broke"
	r.Cases[0].Wrong = []string{"a unit is missing"}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "inventory, 512 callers: it broke") ||
		!strings.Contains(err.Error(), "a unit is missing") || r.AuditOK() {
		t.Error(err)
	}
}

// told is a result as a document, printed and written as JSON.
func told(t *testing.T, r Result) (d report.Document, text, object string) {
	t.Helper()
	d, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	var printed, written strings.Builder
	if err := errors.Join(d.Print(&printed), d.WriteJSON(&written)); err != nil {
		t.Fatal(err)
	}
	return d, printed.String(), written.String()
}

func TestAnEmptyResultHasAllLists(t *testing.T) {
	t.Parallel()
	_, _, text := told(t, Result{})
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"in_process", "http", "rows", "wrong"} {
		if _, is := got[name].([]any); !is {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}

func TestTheTableTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	d, text, _ := told(t, sample())
	for _, says := range []string{"1 of 2 targets are met", "met: NO", "it hung", "audit of 6 SKUs: OK", "inventory accepts 200 orders a second of 512 callers"} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	s := d.Sections[0]
	if row := strings.Join(s.Table.Rows[0][:3], "|"); row != "inventory|512|200" {
		t.Errorf("the row of ours is %q", row)
	}
	if len(d.Figures) != 2 || d.Figures[0].Value != 200 || d.Figures[1].Value != 10 {
		t.Errorf("%+v", d.Figures)
	}
	if len(s.Plots) != 3 || len(s.Plots[0].Categories) != 3 || len(s.Plots[0].Series) != 1 || len(s.Plots[2].Series) != 2 ||
		s.Plots[0].Series[0].Y[0] != 200 || s.Plots[2].Series[0].Y[2] <= 0 {
		t.Errorf("%+v", s.Plots)
	}
}

func TestTheShareIsThatOfTheLeast(t *testing.T) {
	t.Parallel()
	of := func(n int64, took time.Duration) crowd.Sale {
		return crowd.Sale{Counts: crowd.Counts{Accepted: n}, Took: took, Waits: latency.New()}
	}
	r := together("hot", []crowd.Sale{of(50, 2*time.Second), of(20, time.Second), of(30, time.Second)})
	if r.share != 0.2 || r.counts.Accepted != 100 || r.took != 2*time.Second {
		t.Errorf("%+v", r)
	}
	if r := together("hot", []crowd.Sale{of(50, time.Second)}); r.share != 0 {
		t.Errorf("%+v", r)
	}
}

func TestASoldOutSKUSellsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		round round
		right bool
	}{
		"as it should be":          {round{counts: crowd.Counts{Replayed: 10, Refused: 90}, repeated: 10}, true},
		"an answer was not heard":  {round{counts: crowd.Counts{Replayed: 9, Refused: 90}, repeated: 10, unheard: 1}, true},
		"a winner was refused":     {round{counts: crowd.Counts{Replayed: 9, Refused: 91}, repeated: 10}, false},
		"a stranger has somehow a": {round{counts: crowd.Counts{Replayed: 11, Refused: 89}, repeated: 10}, false},
		"something was sold":       {round{counts: crowd.Counts{Accepted: 1, Replayed: 10}, repeated: 10}, false},
	} {
		if err := check(c.round); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABotGetsWhatOneBuyerMayHave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bought, taken crowd.Counts
		right         bool
	}{
		"as it should be":      {crowd.Counts{Accepted: 90}, crowd.Counts{Accepted: buyerLimit, Refused: 50}, true},
		"the bot got more":     {crowd.Counts{Accepted: 90}, crowd.Counts{Accepted: buyerLimit + 1, Refused: 50}, false},
		"a buyer was mistaken": {crowd.Counts{Accepted: 90, Refused: 1}, crowd.Counts{Accepted: buyerLimit, Refused: 50}, false},
	} {
		if err := checkBot(round{counts: c.bought}, round{counts: c.taken}); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaitersPaceThemselves: together they try as often, however many they are, and not all at once.
func TestWaitersPaceThemselves(t *testing.T) {
	t.Parallel()
	if one, many := pauseOf(1), pauseOf(600); one != time.Millisecond || many != 100*time.Millisecond {
		t.Errorf("%v, %v", one, many)
	}
	var pauses []time.Duration
	for range 1000 {
		pauses = append(pauses, pace(100*time.Millisecond).NextBackoff())
	}
	if least, most := slices.Min(pauses), slices.Max(pauses); least < 50*time.Millisecond || most > 150*time.Millisecond || most-least < 50*time.Millisecond {
		t.Errorf("%v to %v", least, most)
	}
}
