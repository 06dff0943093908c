package postgres

import (
	"testing"
	"time"

	"inventory/internal/stock"
)

func TestOrdersAgreeAboutARow(t *testing.T) {
	t.Parallel()
	fence := func(token int64, owner string) stock.PlacedLine {
		return stock.PlacedLine{Batch: stock.Batch{SKU: "shoe", Segment: 1, Layout: 3, Fence: stock.Fence{Token: token, Owner: owner}}}
	}
	later, changed, other, divided := fence(0, ""), fence(0, ""), fence(6, "b"), fence(6, "a")
	later.SaleWindow.EndsAt = time.Unix(1, 0)
	changed.Layout = 4
	other.Segment = 2
	divided.Segment, divided.Parts = stock.AllSegments, []stock.Part{{Segment: 2, Quantity: 1}, {Segment: 1, Quantity: 1}}
	for name, c := range map[string]struct {
		known []stock.PlacedLine
		line  stock.PlacedLine
		want  bool
	}{
		"an unknown row":                {nil, fence(5, "a"), true},
		"another row":                   {[]stock.PlacedLine{fence(5, "a")}, other, true},
		"the same fence":                {[]stock.PlacedLine{fence(5, "a")}, fence(5, "a"), true},
		"another token":                 {[]stock.PlacedLine{fence(5, "a")}, fence(6, "a"), false},
		"another owner":                 {[]stock.PlacedLine{fence(5, "a")}, fence(5, "b"), false},
		"no fence":                      {[]stock.PlacedLine{fence(5, "a")}, fence(0, ""), true},
		"a fence after none":            {[]stock.PlacedLine{fence(0, "")}, fence(5, "a"), true},
		"another token, after none too": {[]stock.PlacedLine{fence(5, "a"), fence(0, "")}, fence(6, "a"), false},
		"a token where none was first":  {[]stock.PlacedLine{fence(0, ""), fence(5, "a")}, fence(6, "a"), false},
		"another layout":                {[]stock.PlacedLine{fence(0, "")}, changed, false},
		"one of several rows":           {[]stock.PlacedLine{fence(5, "a")}, divided, false},
		"another sale window":           {[]stock.PlacedLine{fence(0, "")}, later, false},
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
