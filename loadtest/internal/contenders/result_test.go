package contenders

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/latency"
	"inventory/internal/stock"
)

func TestRowsAreHeldAgainstBuyers(t *testing.T) {
	t.Parallel()
	told := ledger{}
	told.filled("full", 1000)
	told.add("full", 10, 0)
	told.add("hot", 60, 2)
	told.add("hot", 40, 0)
	rows := func(hot, full int64) stock.Audit {
		return stock.Audit{SKUs: []stock.Balance{
			{SKU: "hot", Initial: 500, Available: 500 - hot, Committed: hot},
			{SKU: "full", Initial: 5000, Available: 5000 - full, Committed: full},
		}}
	}
	lost, stranger := rows(100, 1010), rows(100, 1010)
	lost.SKUs[0].Available--
	stranger.SKUs = append(stranger.SKUs, stock.Balance{SKU: "who", Initial: 1, Committed: 1})
	for name, c := range map[string]struct {
		audit stock.Audit
		says  string
	}{
		"all agree":                 {rows(100, 1010), ""},
		"an answer was not heard":   {rows(102, 1010), ""},
		"a row too many":            {rows(103, 1010), "SKU hot: 103 orders have rows, and buyers know of 100; 2 more"},
		"a row too few":             {rows(99, 1010), "SKU hot: 99 orders"},
		"one of before has gone":    {rows(100, 1009), "SKU full: 1009 orders"},
		"a unit is missing":         {lost, "SKU hot: 1 units are missing"},
		"nobody knows of the buyer": {stranger, "SKU who: 1 orders have rows, and buyers know of 0"},
		"no rows":                   {stock.Audit{SKUs: rows(100, 1010).SKUs[:1]}, "SKU full: there are no rows"},
	} {
		wrong := told.against(c.audit)
		if c.says == "" && len(wrong) > 0 || c.says != "" && (len(wrong) != 1 || !strings.HasPrefix(wrong[0], c.says)) {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// played is an entrant that has sold so many in each second.
func played(name string, accepted ...int64) *entrant {
	e := &entrant{name: name, ours: strings.HasPrefix(name, inventoryName), callers: 512}
	for i, n := range accepted {
		e.rounds = append(e.rounds, round{
			sku: name + string(rune('a'+i)), counts: counts{Accepted: n, Refused: 10}, took: time.Second,
			p50: time.Duration(i+1) * time.Millisecond, p99: 10 * time.Millisecond,
		})
	}
	return e
}

func sample() Result {
	c := Case{Name: "in process", ratio: inventoryName, SKUs: 6}
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
		ours.counts.Accepted != 600 || ours.Refused != 30 || ours.Ratio != 1 {
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
	if len(targets) != 2 || targets[0].Value != 20 || !targets[0].Met() || targets[1].Met() {
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

func TestAnEmptyResultHasAllLists(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := (Result{}).PrintJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
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
	r := sample()
	document := r.Into("before\n<!-- contenders: begin -->\nold\n<!-- contenders: end -->\nafter\n")
	for _, says := range []string{"before\n", "\nafter\n", "| inventory | 512 | 200 |", "**missed**", "it hung", "audit of 6 SKUs: OK"} {
		if !strings.Contains(document, says) {
			t.Errorf("no %q in\n%s", says, document)
		}
	}
}

func TestTheShareIsThatOfTheLeast(t *testing.T) {
	t.Parallel()
	of := func(n int64, took time.Duration) sale {
		return sale{Counts: counts{Accepted: n}, Took: took, Waits: latency.New()}
	}
	r := together("hot", []sale{of(50, 2*time.Second), of(20, time.Second), of(30, time.Second)})
	if r.share != 0.2 || r.counts.Accepted != 100 || r.took != 2*time.Second {
		t.Errorf("%+v", r)
	}
	if r := together("hot", []sale{of(50, time.Second)}); r.share != 0 {
		t.Errorf("%+v", r)
	}
}

func TestASoldOutSKUSellsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		round round
		right bool
	}{
		"as it should be":          {round{counts: counts{Replayed: 10, Refused: 90}, repeated: 10}, true},
		"an answer was not heard":  {round{counts: counts{Replayed: 9, Refused: 90}, repeated: 10, unheard: 1}, true},
		"a winner was refused":     {round{counts: counts{Replayed: 9, Refused: 91}, repeated: 10}, false},
		"a stranger has somehow a": {round{counts: counts{Replayed: 11, Refused: 89}, repeated: 10}, false},
		"something was sold":       {round{counts: counts{Accepted: 1, Replayed: 10}, repeated: 10}, false},
	} {
		if err := check(c.round); (err == nil) != c.right {
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

func TestCrowdsCountWhatBecameOfOrders(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	sold, err := crowd(t.Context(), "hot", 3, 20*time.Millisecond, func(_ context.Context, o order) (outcome, error) {
		time.Sleep(time.Millisecond)
		return outcome(asked.Add(1) % 3), nil
	})
	c := sold.Counts
	if err != nil || c.Accepted+c.Refused+c.GaveUp != asked.Load() || c.Accepted != sold.Waits.Count() || sold.Took < 20*time.Millisecond {
		t.Errorf("%v: %+v of %d", err, sold, asked.Load())
	}
	_, err = crowd(t.Context(), "hot", 3, time.Second, func(context.Context, order) (outcome, error) { return refused, errors.New("oh") })
	if err == nil || err.Error() != "3 of 3 callers failed, one with: oh" {
		t.Error(err)
	}
}
