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
