package postgres

import (
	"testing"
	"time"

	"inventory/internal/stock"
)

func TestOrdersAgreeAboutARow(t *testing.T) {
	t.Parallel()
	fence := func(token int64, owner string) stock.Batch {
		return stock.Batch{SKU: "shoe", Segment: 1, Layout: 3, Fence: stock.Fence{Token: token, Owner: owner}}
	}
	later, changed, other, divided := fence(0, ""), fence(0, ""), fence(6, "b"), fence(6, "a")
	later.SaleWindow.EndsAt = time.Unix(1, 0)
	changed.Layout = 4
	other.Segment = 2
	divided.Segment, divided.Parts = stock.AllSegments, []stock.Part{{Segment: 2, Quantity: 1}, {Segment: 1, Quantity: 1}}
	for name, c := range map[string]struct {
		known []stock.Batch
		line  stock.Batch
		want  bool
	}{
		"an unknown row":                {nil, fence(5, "a"), true},
		"another row":                   {[]stock.Batch{fence(5, "a")}, other, true},
		"the same fence":                {[]stock.Batch{fence(5, "a")}, fence(5, "a"), true},
		"another token":                 {[]stock.Batch{fence(5, "a")}, fence(6, "a"), false},
		"another owner":                 {[]stock.Batch{fence(5, "a")}, fence(5, "b"), false},
		"no fence":                      {[]stock.Batch{fence(5, "a")}, fence(0, ""), true},
		"a fence after none":            {[]stock.Batch{fence(0, "")}, fence(5, "a"), true},
		"another token, after none too": {[]stock.Batch{fence(5, "a"), fence(0, "")}, fence(6, "a"), false},
		"a token where none was first":  {[]stock.Batch{fence(0, ""), fence(5, "a")}, fence(6, "a"), false},
		"another layout":                {[]stock.Batch{fence(0, "")}, changed, false},
		"one of several rows":           {[]stock.Batch{fence(5, "a")}, divided, false},
		"another sale window":           {[]stock.Batch{fence(0, "")}, later, false},
	} {
		rows := knownRows{}
		for _, line := range c.known {
			rows.add(line)
		}
		if got := rows.agrees(c.line); got != c.want {
			t.Errorf("%s: agrees is %v, want %v", name, got, c.want)
		}
	}
}
