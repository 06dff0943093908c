package contenders

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"inventory/internal/latency"
	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/reconcile"
	"inventory/loadtest/internal/report"
)

// sample is a case in which that many were sold in each round of a second, and a peer has failed.
func sample() Result {
	played := map[string][]float64{inventoryName: {200, 100, 300}, textbookName: {10, 5, 15}}
	w := &world{Config: Config{Scale: Full()}}
	q := questions(Full())[0]
	q.ratio = inventoryName
	c := w.caseOf(q, []*entrant{{name: inventoryName, ours: true, callers: 512}, {name: textbookName, callers: 512}, {name: luaName, callers: 512}})
	r := experiment.Result{Name: q.name, Case: c, SKUs: 6, Failed: map[string]error{at(luaName, 512): errors.New("it hung")}}
	for i := range 6 {
		round := experiment.Round{}
		for name, sold := range played {
			n := int64(sold[i%3])
			round[at(name, 512)] = second{n}.sample()
		}
		r.Rounds = append(r.Rounds, round)
	}
	return Result{Report: experiment.Report{Results: []experiment.Result{r}}}
}

// second is a round of one.
type second struct{ accepted int64 }

func (r second) sample() experiment.Sample {
	s := (round{counts: load.Counts{load.Accepted: r.accepted, load.Refused: 10}, took: time.Second, p50: 2 * time.Millisecond, p99: 10 * time.Millisecond}).sample(false)
	s[rows] = float64(r.accepted)
	return s
}

func TestFiguresAreThoseOfAllRounds(t *testing.T) {
	t.Parallel()
	all := sample().Results[0].Entries()
	ours, book := all[0], all[1]
	for name, want := range map[string]any{
		"name": inventoryName, "callers": 512., "accepted_per_second": 200., "answers_per_second": 210., "p50_ms": 2., "rows": 1200.,
		"accepted": 1200., "refused": 60., "ratio": 1.,
	} {
		if ours[name] != want {
			t.Errorf("%s is %v", name, ours[name])
		}
	}
	// 10/200, 5/100 and 15/300: ratios are computed from pairs.
	if ratio, _ := book["ratio"].(float64); math.Abs(ratio-0.05) > 1e-9 || all[2]["note"] != "it hung" || all[2]["ratio"] != nil {
		t.Errorf("%+v", book)
	}
}

func TestTargetsSayWhatWasMissed(t *testing.T) {
	t.Parallel()
	targets := sample().Targets()
	if len(targets) != 2 || math.Abs(targets[0].Value-20) > 1e-9 || targets[1].Met || targets[1].Undecided {
		t.Errorf("%v", targets)
	}
}

func TestWhatOursMayNotDo(t *testing.T) {
	t.Parallel()
	r := sample() // in which a peer has failed, which is its own affair
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	r.Results[0].Failed[at(inventoryName, 512)] = errors.New("it broke")
	r.Results[0].Wrong = []string{"a unit is missing"}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "it broke") || !strings.Contains(err.Error(), "a unit is missing") {
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
	for _, name := range []string{"in_process", "http", "wrong"} {
		if _, is := got[name].([]any); !is {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}

func TestTheTableTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	d, text, _ := told(t, sample())
	for _, says := range []string{"of 2 targets are met", "met: NO", "it hung", "audit of 6 SKUs: OK", "inventory, 512 at once: 200 ("} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	s := d.Sections[0]
	if row := strings.Join(s.Table.Rows[0][:3], "|"); !strings.HasPrefix(row, "inventory|512|200 (") {
		t.Errorf("the row of ours is %q", row)
	}
	if len(d.Figures) != 2 || d.Figures[0].Value != 200 || d.Figures[1].Value != 10 {
		t.Errorf("%+v", d.Figures)
	}
	if len(s.Plots) != 2 || len(s.Plots[0].Categories) != 3 || len(s.Plots[0].Series) != 1 || s.Plots[0].Series[0].Y[0] != 200 ||
		!math.IsNaN(s.Plots[1].Series[0].Y[2]) {
		t.Errorf("%+v", s.Plots)
	}
}

func TestTheShareIsThatOfTheLeast(t *testing.T) {
	t.Parallel()
	of := func(n int64, took time.Duration) load.Sale {
		return load.Sale{Counts: load.Counts{load.Accepted: n}, Took: took, Waits: latency.New()}
	}
	r := together("hot", []load.Sale{of(50, 2*time.Second), of(20, time.Second), of(30, time.Second)})
	if r.share != 0.2 || r.counts[load.Accepted] != 100 || r.took != 2*time.Second {
		t.Errorf("%+v", r)
	}
	if r := together("hot", []load.Sale{of(50, time.Second)}); r.share != 0 {
		t.Errorf("%+v", r)
	}
}

func TestASoldOutSKUSellsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		round round
		right bool
	}{
		"as it should be":          {round{counts: load.Counts{load.Replayed: 10, load.Refused: 90}, repeated: 10}, true},
		"an answer was not heard":  {round{counts: load.Counts{load.Replayed: 9, load.Refused: 90}, repeated: 10, unanswered: 1}, true},
		"a winner was refused":     {round{counts: load.Counts{load.Replayed: 9, load.Refused: 91}, repeated: 10}, false},
		"a stranger has somehow a": {round{counts: load.Counts{load.Replayed: 11, load.Refused: 89}, repeated: 10}, false},
		"something was sold":       {round{counts: load.Counts{load.Accepted: 1, load.Replayed: 10}, repeated: 10}, false},
	} {
		if err := check(c.round); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaitersPaceThemselves: together they try as often, however many they are.
func TestWaitersPaceThemselves(t *testing.T) {
	t.Parallel()
	if one, many := pauseOf(1), pauseOf(600); one != time.Millisecond || many != 100*time.Millisecond {
		t.Errorf("%v, %v", one, many)
	}
}

// TestWhatWasSoldInTheWarmUpIsNotCounted, but has rows.
func TestWhatWasSoldInTheWarmUpIsNotCounted(t *testing.T) {
	t.Parallel()
	waits := latency.New()
	for range 20 {
		waits.Record(time.Millisecond)
	}
	s := roundOf(load.Sale{Counts: load.Counts{load.Accepted: 30}, Took: 2 * time.Second, Waits: waits}, "hot").sample(false)
	if s[accepted] != 10 || s["accepted"] != 30 || s[counted] != 10 {
		t.Errorf("%v", s)
	}
}

// TestMixesChooseAsTheyAreNamed counts how often each SKU is among those to choose from.
func TestMixesChooseAsTheyAreNamed(t *testing.T) {
	t.Parallel()
	share := map[string]map[string]float64{}
	for _, x := range mixesOf(Full()) {
		share[x.name] = map[string]float64{}
		for _, sku := range x.skus {
			share[x.name][sku] += 1 / float64(len(x.skus))
		}
	}
	first := func(mix string) float64 { return share[mix][mixedSKU+"0"] }
	zipf := share[zipfMix]
	if len(share) != 5 || first(hotMix) != 1 || math.Abs(first("uniform over 1,000")-0.001) > 1e-9 || len(share["uniform over 10,000"]) != 10_000 ||
		math.Abs(first(hotAmidMix)-0.5) > 0.001 || len(share[hotAmidMix]) != 1000 || len(zipf) != 1000 || math.Abs(zipf[mixedSKU+"9"]/first(zipfMix)-0.1) > 1e-6 {
		t.Errorf("%d mixes, the first of them: %v, %v", len(share), first(zipfMix), first(hotAmidMix))
	}
}

// TestMixesAreHeldAgainstTheRows, all SKUs together.
func TestMixesAreHeldAgainstTheRows(t *testing.T) {
	t.Parallel()
	told := reconcile.Expected{}
	told.Add(manySKUs, 10, 2)
	for orders, right := range map[int64]bool{9: false, 10: true, 12: true, 13: false} {
		rows := stock.Audit{SKUs: []stock.Balance{{SKU: mixedSKU + "1", Committed: orders - 4}, {SKU: mixedSKU + "2", Reserved: 4}, {SKU: "hot-1", Committed: 7}}}
		if wrong := told.Against(stock.Audit{SKUs: []stock.Balance{mixed(rows)}}); (len(wrong) == 0) != right {
			t.Errorf("%d rows: %q", orders, wrong)
		}
	}
}
