package replay

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"inventory/loadtest/internal/history"
)

// TestMain does not wait for the goroutines of fasthttp that close idle connections: they sleep, and end when there are none.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"))
}

// linesOf reads "order sku quantity" lines, which follow each other by a minute.
func linesOf(t testing.TB, text string) []Line {
	t.Helper()
	file := "order_id,at,buyer_id,sku,quantity\n"
	at := time.Date(2010, 12, 1, 8, 0, 0, 0, time.UTC)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		file += strings.Join([]string{f[0], at.Format(time.RFC3339), "b" + f[0], f[1], f[2]}, ",") + "\n"
		at = at.Add(time.Minute)
	}
	lines, err := readOrders(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestPlanGroupsLines(t *testing.T) {
	t.Parallel()
	lines := linesOf(t, `
		1  10001a 3
		1  10001A 4
		1  10001a 5
		2  POST   1
		2  10001a 6
		3  10001a -9
		3  10001a 0
		3  10001a 7
		C4 10001a -2
		C4 10001a -3
		C4 10002  -1
		C4 10001A 8
		5  10003  -5
		1  10001a 1
	`)
	plan, err := NewPlan(lines, 0.8, false, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{
		Lines: 14, LeftOut: 5, From: plan.From, To: plan.From.Add(13 * time.Minute),
		SKUs: []SKU{
			{"10001a", 22, 17, 10}, // 3+5+1, 6, 7
			{"10001A", 4, 3, 3},
			{"10002", 0, 1, 1}, // came back without an order
		},
		Requests: []history.Operation{
			{ID: "1", Buyer: "b1", Lines: []history.Line{{SKU: "10001a", Quantity: 9}}},
			{ID: "1", Buyer: "b1", Lines: []history.Line{{SKU: "10001A", Quantity: 4}}},
			{ID: "2", Buyer: "b2", Lines: []history.Line{{SKU: "10001a", Quantity: 6}}},
			{ID: "3", Buyer: "b3", Lines: []history.Line{{SKU: "10001a", Quantity: 7}}},
			{Kind: history.Restock, ID: "C4/10001a", Buyer: "bC4", Lines: []history.Line{{SKU: "10001a", Quantity: 5}}},
			{Kind: history.Restock, ID: "C4/10002", Buyer: "bC4", Lines: []history.Line{{SKU: "10002", Quantity: 1}}},
		},
	}
	if !reflect.DeepEqual(plan, want) {
		t.Errorf("got  %+v\nwant %+v", plan, want)
	}
	whole, err := NewPlan(lines, 0.8, true, "")
	want.Requests = append([]history.Operation{{
		Kind: history.Order, ID: "1", Buyer: "b1", Lines: []history.Line{{SKU: "10001a", Quantity: 9}, {SKU: "10001A", Quantity: 4}},
	}}, want.Requests[2:]...)
	if err != nil || !reflect.DeepEqual(whole, want) {
		t.Errorf("whole orders: %v\ngot  %+v\nwant %+v", err, whole, want)
	}
}

func TestPlanStock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		factor   float64
		demand   string
		stock    int64
		segments int
	}{
		{0.8, "1", 1, 1},
		{0.8, "5", 4, 4},
		{0.8, "3759", 3007, 10},
		{0.29, "100", 29, 10},
		{0, "100", 1, 1},
		{1, "10", 10, 10},
		{1000, "1000000", 1e9, 10},
		{1e-9, "1000000", 1, 1},
	} {
		plan, err := NewPlan(linesOf(t, "1 10001 "+c.demand), c.factor, false, "")
		if err != nil || plan.SKUs[0].Stock != c.stock || plan.SKUs[0].Segments != c.segments {
			t.Errorf("%v times %s: %+v, %v", c.factor, c.demand, plan.SKUs, err)
		}
	}
}

func TestPlanRefusesWhatTheServiceWould(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines  string
		factor float64
		says   string
		line   int
	}{
		"sum of an order":   {"1 10001 1000000\n2 10001 1\n1 10001 1", 0.8, "more than 1000000 units", 4},
		"sum of a return":   {"C1 10001 -1000000\nC1 10001 -1", 0.8, "more than 1000000 units", 3},
		"ref of a return":   {"C" + strings.Repeat("1", 122) + " 10001 -1", 0.8, "too long", 2},
		"stock of a SKU":    {"1 10001 1000000\n2 10001 1", 1000, "10001", 0},
		"factor below zero": {"1 10001 1", -0.1, "factor", 0},
	} {
		_, err := NewPlan(linesOf(t, c.lines), c.factor, false, "")
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.HasPrefix(err.Error(), "line") != (c.line > 0) || c.line > 0 && !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", c.line)) {
			t.Errorf("%s: %v, want line %d and %q", name, err, c.line, c.says)
		}
	}
}

// drawLines draws lines of few orders and SKUs, so that they meet often.
func drawLines(t *rapid.T) []Line {
	lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Line {
		return Line{
			OrderID:  rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "C6", "C7"}).Draw(t, "order"),
			SKU:      rapid.SampledFrom([]string{"10001", "10002A", "10002a", "POST"}).Draw(t, "sku"),
			Quantity: rapid.Int64Range(-9, 9).Draw(t, "quantity"),
		}
	}), 1, 40).Draw(t, "lines")
	for i := range lines {
		lines[i].Number = i + 2
	}
	return lines
}

func TestPlanHasTheUnitsOfEveryLineOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := drawLines(t)
		plan, err := NewPlan(lines, rapid.Float64Range(0, 3).Draw(t, "factor"), rapid.Bool().Draw(t, "whole orders"), "")
		if err != nil {
			t.Fatal(err)
		}
		missing, demand := int64(0), int64(0) // units
		for _, l := range lines {
			if l.IsReturn() {
				l.Quantity = -l.Quantity
			}
			if l.IsGoods() {
				missing += max(0, l.Quantity)
			}
		}
		seen := map[key]bool{}
		for _, q := range plan.Requests {
			for _, line := range q.Lines {
				missing -= line.Quantity
				if q.Kind.Takes() {
					demand += line.Quantity
				}
				k := key{q.ID, line.SKU}
				if seen[k] || line.Quantity < 1 {
					t.Fatalf("%+v comes twice or asks for nothing", q)
				}
				seen[k] = true
			}
		}
		for _, s := range plan.SKUs {
			demand -= s.Demand
			if s.Stock < 1 || s.Segments < 1 || int64(s.Segments) > s.Stock {
				t.Fatalf("%+v", s)
			}
		}
		if plan.Lines != len(lines) || missing != 0 || demand != 0 {
			t.Fatalf("%d of %d lines, %d units missing, stocks for %d units too few", plan.Lines, len(lines), missing, demand)
		}
	})
}
