package contenders

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/latency"
	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// TestEveryCaseIsSold runs the cases as the program does: it starts itself as the other processes. The lab's own test of its
// program plays the case that is missing here, "three processes".
func TestEveryCaseIsSold(t *testing.T) {
	t.Parallel()
	const inBrief = "beside what a team writes in an afternoon"
	sizes := map[string]struct{ rows, targets int }{
		inBrief: {4, 0}, "one caller": {4, 1}, "mix": {5 * 2 * 4, 12}, "baskets": {2 * 2 * 6, 4}, besideName: {2 * 4 * 2, 2}, "over HTTP": {10, 8}, pricesName: {11, 1}, farName: {6, 0},
		"in process": {2 * len(designs(1)), 2},
	}
	if testing.Short() {
		delete(sizes, "in process")
	}
	cases := slices.DeleteFunc(Names(), func(name string) bool { return sizes[name].rows == 0 })
	busytest.Soon(t, "every contender sells something in its window", func() bool {
		config := experiment.Config{Size: experiment.Tiny, Cases: cases, Progress: func(line string) { t.Log(line) }}
		d, err := Run(t.Context(), Config{Config: config, Lines: []int{3, 10}})
		if err != nil || d.Err() != nil || d.Environment.Of("fsync") != "on" {
			t.Fatalf("run: %v; wrong: %q, want nothing; fsync %q, want on", err, d.Wrong, d.Environment.Of("fsync"))
		}
		played, idle := 0, []string{}
		for _, s := range d.Sections {
			if want := sizes[s.Name]; len(s.Table.Rows) != want.rows || len(s.Targets) != want.targets {
				t.Errorf("%s: %d rows and %d targets, want %+v", s.Name, len(s.Table.Rows), len(s.Targets), want)
			}
			if s.Name == inBrief {
				continue
			}
			played++
			wantFindings(t, s)
			if !allSold(s) {
				idle = append(idle, s.Name)
				continue
			}
			wantCosts(t, s)
			if s.Name == besideName {
				wantKnown(t, d.Sections[0])
			}
		}
		if played != len(cases) {
			t.Fatalf("got the results of %d cases, want %q", played, cases)
		}
		cases = idle
		return len(cases) == 0
	})
}

// wantKnown demands a figure in each cell.
func wantKnown(t *testing.T, s report.Section) {
	t.Helper()
	for _, row := range s.Table.Rows {
		if len(row) != 7 || slices.Contains(row, "0") || slices.Contains(row, "-") {
			t.Errorf("%s: of some work nothing is known: %q", s.Name, row)
		}
	}
}

// wantFindings demands a plot and an audit, and that no contender failed.
func wantFindings(t *testing.T, s report.Section) {
	t.Helper()
	if len(s.Plots) != 1 || !slices.ContainsFunc(s.Notes, func(note string) bool { return strings.HasPrefix(note, "audit of ") }) {
		t.Errorf("%s: %d plots, notes %q", s.Name, len(s.Plots), s.Notes)
	}
	for _, note := range s.Notes {
		if strings.HasPrefix(note, "failed: ") {
			t.Errorf("%s: %s", s.Name, note)
		}
	}
}

// allSold reports whether every contender did something. On a busy machine a window may be over before a caller orders.
func allSold(s report.Section) bool {
	return !slices.ContainsFunc(s.Table.Rows, func(row []string) bool {
		return !slices.ContainsFunc([]string{"accepted", "replayed", "refused", "gave up"}, func(column string) bool {
			at := slices.Index(s.Table.Columns, column)
			return at >= 0 && row[at] != "0"
		})
	})
}

// wantCosts demands that the costs of a service are known where there is one.
func wantCosts(t *testing.T, s report.Section) {
	t.Helper()
	column := slices.Index(s.Table.Columns, serviceCost)
	for _, row := range s.Table.Rows {
		known := column >= 0 && row[column] != "-"
		if known != (strings.Contains(row[0], "over HTTP") || s.Name == "over HTTP") {
			t.Errorf("%s: %q: the costs of the service are known: %t", s.Name, row, known)
		}
	}
}

func TestServersThatForgetAreRefused(t *testing.T) {
	t.Parallel()
	forgetful := newWorld(t).URLs
	forgetful.DatabaseURL += "&synchronous_commit=off"
	_, err := Run(t.Context(), Config{Config: experiment.Config{URLs: forgetful}})
	if err == nil || !strings.Contains(err.Error(), "synchronous_commit off") {
		t.Error(err)
	}
}

func TestShareIsThatOfTheLeast(t *testing.T) {
	t.Parallel()
	of := func(n int64, took time.Duration) load.Sale {
		return load.Sale{Counts: load.Counts{load.Accepted: n}, Took: took, Waits: latency.New()}
	}
	r := together("hot", []load.Sale{of(50, 2*time.Second), of(20, time.Second), of(30, time.Second)})
	if r.share != 0.2 || r.Counts[load.Accepted] != 100 || r.Took != 2*time.Second {
		t.Errorf("%+v", r)
	}
	if r := together("hot", []load.Sale{of(50, time.Second)}); r.share != 0 {
		t.Errorf("%+v", r)
	}
}

// TestWaitersPaceThemselves: together they try as often, however many they are.
func TestWaitersPaceThemselves(t *testing.T) {
	t.Parallel()
	if one, many := pauseOf(1), pauseOf(600); one != time.Millisecond || many != 100*time.Millisecond {
		t.Errorf("%v and %v, want 1ms and 100ms", one, many)
	}
}

// TestSampleCountsOrders: those of a warm-up are not in the rate, and an answer may be to several.
func TestSampleCountsOrders(t *testing.T) {
	t.Parallel()
	waits := latency.New()
	for range 20 {
		waits.Record(time.Millisecond)
	}
	r := sold{Sale: load.Sale{Counts: load.Counts{load.Accepted: 30, load.GaveUp: 4, load.Refused: 6}, Took: 2 * time.Second, Waits: waits}}
	if s := (&entrant{orders: 64}).sample(r); s[accepted] != 8*64 || s["accepted"] != 30*64 || s[counted] != s[accepted] {
		t.Errorf("%v", s)
	}
	if s := (&entrant{answers: true}).sample(r); s[accepted] != 8 || s[counted] != 11 {
		t.Errorf("%v", s)
	}
}

// TestMixesChooseAsTheyAreNamed counts how often each SKU is among those to choose from.
func TestMixesChooseAsTheyAreNamed(t *testing.T) {
	t.Parallel()
	share := map[string]map[string]float64{}
	for _, x := range mixesOf(scaleOf(experiment.Full)) {
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
	told := history.Expected{}
	told.Add(manySKUs, 10, 2)
	for orders, right := range map[int64]bool{9: false, 10: true, 12: true, 13: false} {
		rows := stock.Audit{SKUs: []stock.Balance{{SKU: mixedSKU + "1", Committed: orders - 4}, {SKU: mixedSKU + "2", Reserved: 4}, {SKU: "hot-1", Committed: 7}}}
		if wrong := told.Against(stock.Audit{SKUs: []stock.Balance{mixed(rows)}}); (len(wrong) == 0) != right {
			t.Errorf("%d rows: %q", orders, wrong)
		}
	}
}
