package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/history"
)

const (
	header   = "order_id,at,buyer_id,sku,quantity\n"
	shopFile = "../../testdata/online-retail-2010-12-01.csv.gz"
)

func packed(t testing.TB, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReadTakesWhatShopsWrite(t *testing.T) {
	t.Parallel()
	text := header +
		"536365,2010-12-01T08:26:00Z,17850,85123A,6\n" +
		"\n" +
		"C536366,2010-12-01T09:26:00+01:00,,\"BANK CHARGES\",-1\n" +
		"\"5,7\",2010-12-01T08:27:00Z,Zoë,21730,0\n"
	at := time.Date(2010, 12, 1, 8, 26, 0, 0, time.UTC)
	want := []Line{
		{2, "536365", at, "17850", "85123A", 6},
		{4, "C536366", at, "", "BANK CHARGES", -1},
		{5, "5,7", at.Add(time.Minute), "Zoë", "21730", 0},
	}
	for name, file := range map[string][]byte{
		"plain":          []byte(text),
		"gzip":           packed(t, text),
		"carriage":       []byte(strings.ReplaceAll(text, "\n", "\r\n")),
		"no end of line": []byte(strings.TrimSpace(text)),
	} {
		got, err := readOrders(bytes.NewReader(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range got {
			got[i].At = got[i].At.UTC()
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestReadTellsTheLineThatIsWrong(t *testing.T) {
	t.Parallel()
	const good = "1,2010-12-01T08:26:00Z,2,85123A,6\n"
	long := strings.Repeat("1", 129)
	for name, c := range map[string]struct {
		text string
		line int
		says string
	}{
		"empty":              {"", 1, "header"},
		"other header":       {"id,at,buyer,sku,quantity\n" + good, 1, "order_id,at,buyer_id,sku,quantity"},
		"header alone":       {header, 2, "no order lines"},
		"column missing":     {header + good + "1,2010-12-01T08:26:00Z,2,85123A\n", 3, "4 columns instead of 5"},
		"line after a gap":   {header + good + "\n\nx\n", 5, "1 columns"},
		"line after a quote": {header + "\"1\n2\",2010-12-01T08:26:00Z,2,85123A,6\n", 2, "order_id"},
		"open quote":         {header + good + "\"1,2010-12-01T08:26:00Z,2,85123A,6\n" + good, 3, "quote"},
		"no whole number":    {header + "1,2010-12-01T08:26:00Z,2,85123A,6.5\n", 2, `quantity "6.5"`},
		"number too large":   {header + "1,2010-12-01T08:26:00Z,2,85123A,1000001\n", 2, "from -1000000 to 1000000"},
		"no time":            {header + good + "1,yesterday,2,85123A,6\n", 3, `at "yesterday"`},
		"time backwards":     {header + good + "1,2010-12-01T08:25:59Z,2,85123A,6\n", 3, "time order"},
		"order id missing":   {header + ",2010-12-01T08:26:00Z,2,85123A,6\n", 2, `order_id ""`},
		"order id too long":  {header + long + ",2010-12-01T08:26:00Z,2,85123A,6\n", 2, "128 bytes"},
		"order id not UTF-8": {header + "\xff,2010-12-01T08:26:00Z,2,85123A,6\n", 2, "UTF-8"},
		"buyer with NUL":     {header + "1,2010-12-01T08:26:00Z,\x00,85123A,6\n", 2, "buyer_id"},
		"sku with a space":   {header + "1,2010-12-01T08:26:00Z,2,85123 A,6\n", 2, `sku "85123 A"`},
		"sku too long":       {header + "1,2010-12-01T08:26:00Z,2," + long[:41] + ",6\n", 2, "40 characters"},
	} {
		for form, file := range map[string][]byte{"plain": []byte(c.text), "gzip": packed(t, c.text)} {
			lines, err := readOrders(bytes.NewReader(file))
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", c.line)) || !strings.Contains(err.Error(), c.says) || lines != nil {
				t.Errorf("%s, %s: %d lines, %v; want line %d and %q", name, form, len(lines), err, c.line, c.says)
			}
		}
	}
}

// TestReadNoticesDamage cuts and scratches a gzip: none of it may pass as a shorter file.
func TestReadNoticesDamage(t *testing.T) {
	t.Parallel()
	whole := packed(t, header+strings.Repeat("1,2010-12-01T08:26:00Z,2,85123A,6\n", 5000))
	damaged := [][]byte{
		append(append([]byte{}, whole[:len(whole)-8]...), 1, 2, 3, 4, 5, 6, 7, 8), append(append([]byte{}, whole...), "trailer"...),
	}
	for size := 2; size < len(whole); size += 1 + len(whole)/200 {
		damaged = append(damaged, whole[:size])
	}
	for _, file := range damaged {
		if lines, err := readOrders(bytes.NewReader(file)); err == nil || lines != nil {
			t.Errorf("%d of %d bytes: %d lines, %v; want an error", len(file), len(whole), len(lines), err)
		}
	}
}

func TestReadOrders(t *testing.T) {
	t.Parallel()
	lines, err := ReadOrders(shopFile)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(lines); n != 22523 || lines[n-1].Number != 22524 {
		t.Errorf("%d lines, the last of which is number %d", n, lines[n-1].Number)
	}
	if _, err := ReadOrders(filepath.Join(t.TempDir(), "none.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.csv")
	if err := os.WriteFile(damaged, []byte("what\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadOrders(damaged); err == nil || !strings.Contains(err.Error(), damaged+": line 1: ") {
		t.Errorf("damaged file: %v", err)
	}
}

func TestGoodsAndReturns(t *testing.T) {
	t.Parallel()
	for sku, goods := range map[string]bool{
		"85123A": true, "21730": true, "15056bl": true,
		"POST": false, "M": false, "C2": false, "1234": false, "1234A": false, "BANK CHARGES": false, "": false,
	} {
		if (Line{SKU: sku}).IsGoods() != goods {
			t.Errorf("SKU %q: goods is not %v", sku, goods)
		}
	}
	if !(Line{OrderID: "C536379"}).IsReturn() || (Line{OrderID: "536379C"}).IsReturn() {
		t.Error("a return is what begins with C")
	}
}

func TestFirstOrdersKeepsOrdersWhole(t *testing.T) {
	t.Parallel()
	lines := []Line{{OrderID: "a"}, {OrderID: "b"}, {OrderID: "b"}, {OrderID: "b"}, {OrderID: "c"}}
	for n, want := range map[int]int{1: 1, 2: 4, 3: 4, 4: 4, 5: 5, 9: 5, 0: 5} {
		if got := len(FirstOrders(lines, n)); got != want {
			t.Errorf("first %d: %d lines, want %d", n, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(header + "536365,2010-12-01T08:26:00Z,17850,85123A,6\nC1,2010-12-01T08:27:00Z,,POST,-6\n"))
	f.Add([]byte(header + "\"a\"\"b\",2010-12-01T08:26:00Z,17850,85123A,6\r\n"))
	f.Add(packed(f, header+"536365,2010-12-01T08:26:00Z,17850,85123A,6\n"))
	f.Add(packed(f, header)[:20])
	f.Fuzz(func(t *testing.T, file []byte) {
		lines, err := readOrders(bytes.NewReader(file))
		if err != nil {
			if lines != nil {
				t.Fatalf("%d lines and %v", len(lines), err)
			}
			return
		}
		last := Line{Number: 1}
		for _, l := range lines {
			if l.Number <= last.Number || l.At.Before(last.At) && last.Number > 1 || l.OrderID == "" || l.SKU == "" {
				t.Fatalf("%+v after %+v", l, last)
			}
			last = l
		}
		if again, err := readOrders(bytes.NewReader(file)); err != nil || !reflect.DeepEqual(again, lines) {
			t.Fatalf("read again: %v", err)
		}
	})
}

// TestMain does not wait for the goroutines of fasthttp that close idle connections: they sleep, and end when there are none.
func TestMain(m *testing.M) {
	busytest.Main(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
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
				if q.Kind.TakesUnits() {
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
