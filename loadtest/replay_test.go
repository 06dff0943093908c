package main

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"inventory/internal/cli"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/replay"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

const shopFile = "testdata/online-retail-2010-12-01.csv.gz"

// handMade has, with a stock factor of 0.5: 10001 with 10 units for a demand of 20, and 10002 with one.
const handMade = `order_id,at,buyer_id,sku,quantity
1,2010-12-01T08:00:00Z,7,10001,3
1,2010-12-01T08:00:00Z,7,POST,1
1,2010-12-01T08:00:00Z,7,10001,2
2,2010-12-01T08:01:00Z,,10001,7
3,2010-12-01T08:02:00Z,8,10001,5
4,2010-12-01T08:03:00Z,8,10001,1
C5,2010-12-01T08:04:00Z,7,10001,-2
C5,2010-12-01T08:04:00Z,7,10001,-1
6,2010-12-01T08:05:00Z,9,10001,2
7,2010-12-01T08:06:00Z,,10002,-4
C8,2010-12-01T08:07:00Z,7,10002,-1
C8,2010-12-01T08:07:00Z,7,D,-1
`

// TestReplayOfAKnownFile also has a key in its environment, which no report tells.
func TestReplayOfAKnownFile(t *testing.T) { // not parallel: it sets a variable
	t.Setenv("INVENTORY_API_KEY", "hunter2")
	file := writeFile(t, handMade)
	got := runWith(t.Context(), "replay", "--orders", file, "--stock-factor=0.5", "--json=-")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	document := readReport(t, got.out)
	if strings.Contains(got.out, "hunter2") || !slices.Contains(document.Flags, report.Flag{Name: "api-key", Value: notTold}) {
		t.Errorf("%+v", document.Flags)
	}
	if len(document.Flags) < 10 || document.Environment.Of("SQLite") == "" || document.Environment.Of("Redis") != "embedded" || document.Started.IsZero() {
		t.Errorf("%+v, %+v", document.Flags, document.Environment)
	}
	became, want := requests(document), map[string]float64{"accepted": 5, "sold out": 1, "insufficient stock": 1, "all who were due": 7}
	if document.Elapsed <= 0 || !document.AuditOK() || figure(document, "units sold") != 12 || !maps.Equal(became, want) || !strings.HasSuffix(document.Summary[0], "; 3 lines left out.") {
		t.Errorf("got %v s, wrong: %q, %v units sold, %v, %q; want nothing wrong, 12 units, %v, and 3 lines left out",
			document.Elapsed, document.Wrong, figure(document, "units sold"), became, document.Summary[0], want)
	}
}

// totals are what became of a SKU.
type totals struct{ sold, restocked, left int64 }

// modelled is what a store without any concurrency would make of a plan.
func modelled(plan replay.Plan) map[string]totals {
	out := map[string]totals{}
	for _, s := range plan.SKUs {
		out[s.Name] = totals{left: s.Stock}
	}
	for _, q := range plan.Requests {
		fits := !slices.ContainsFunc(q.Lines, func(l history.Line) bool { return out[l.SKU].left < l.Quantity })
		for _, line := range q.Lines {
			of := out[line.SKU]
			switch {
			case q.Kind == history.Restock:
				of.left, of.restocked = of.left+line.Quantity, of.restocked+line.Quantity
			case fits:
				of.left, of.sold = of.left-line.Quantity, of.sold+line.Quantity
			}
			out[line.SKU] = of
		}
	}
	return out
}

// replayShop replays the shop's file on the target of the flags, and demands that each SKU ends as modelled.
func replayShop(t *testing.T, flags targetFlags, whole bool) {
	t.Helper()
	lines, err := replay.ReadOrders(shopFile)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := replay.NewPlan(replay.FirstOrders(lines, 400), 0.8, whole, "replay-")
	if err != nil {
		t.Fatal(err)
	}
	var played *replay.Replay
	s := cli.Streams{Out: io.Discard, Err: io.Discard}
	settings := replay.Settings{Concurrency: 64, Progress: io.Discard}
	document, err := flags.at(t.Context(), s, func(to *target.Target) (_ report.Document, err error) {
		played, err = replay.Play(t.Context(), plan, settings, to)
		return played.Document, err
	})
	if err := errors.Join(err, document.Err()); err != nil {
		t.Fatal(err)
	}
	environment := document.Environment
	if on := environment.Of("PostgreSQL") != "" && environment.Of("Redis") != "embedded" && environment.Of("Redis") != ""; on != flags.Private {
		t.Errorf("%+v", environment)
	}
	became := played.All.Counts(0, load.Forever)
	// In a part of the file, whole orders are refused for SKUs that are short before any has sold out.
	if refused := became[load.InsufficientStock] > 0 && (whole || became[load.SoldOut] > 0); !refused || became[load.Accepted] == 0 {
		t.Errorf("got %v, want some that were accepted, short and sold out", became)
	}
	got := map[string]totals{}
	for _, s := range played.Rows.SKUs {
		_, sold := played.Rows.Of(s.Name)
		got[s.Name] = totals{sold: sold, left: s.Available}
	}
	for _, m := range played.Rows.Movements {
		of := got[m.SKU]
		of.restocked += m.Quantity
		got[m.SKU] = of
	}
	want := modelled(plan)
	for sku := range want {
		if got[sku] != want[sku] {
			t.Errorf("%s: got %+v, want %+v", sku, got[sku], want[sku])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d SKUs instead of %d", len(got), len(want))
	}
}

// TestReplayEndsWhereTheModelDoes replays a part of the shop's file on each store, with orders SKU by SKU and whole. Both stores
// end where the model does, so they end at the same place. make shop replays the whole file.
func TestReplayEndsWhereTheModelDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ private, whole bool }{
		"SQLite, SKU by SKU": {}, "PostgreSQL, whole orders": {private: true, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replayShop(t, targetFlags{target.Config{Private: c.private}}, c.whole)
		})
	}
}
