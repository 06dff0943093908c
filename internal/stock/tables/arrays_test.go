package tables_test

import (
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

func TestOrdersAgreeAboutARow(t *testing.T) {
	t.Parallel()
	row, other := tables.SegmentRow{SKU: "shoe", Segment: 1}, tables.SegmentRow{SKU: "shoe", Segment: 2}
	fence := func(token int64, owner string) stock.PlacedLine {
		return stock.PlacedLine{Layout: 3, Fence: stock.Fence{Token: token, Owner: owner}}
	}
	later := fence(0, "")
	later.SaleWindow.EndsAt = time.Unix(1, 0)
	for name, c := range map[string]struct {
		known []stock.PlacedLine
		line  stock.PlacedLine
		at    tables.SegmentRow
		want  bool
	}{
		"an unknown row":                {nil, fence(5, "a"), row, true},
		"another row":                   {[]stock.PlacedLine{fence(5, "a")}, fence(6, "b"), other, true},
		"the same fence":                {[]stock.PlacedLine{fence(5, "a")}, fence(5, "a"), row, true},
		"another token":                 {[]stock.PlacedLine{fence(5, "a")}, fence(6, "a"), row, false},
		"another owner":                 {[]stock.PlacedLine{fence(5, "a")}, fence(5, "b"), row, false},
		"no fence":                      {[]stock.PlacedLine{fence(5, "a")}, fence(0, ""), row, true},
		"a fence after none":            {[]stock.PlacedLine{fence(0, "")}, fence(5, "a"), row, true},
		"another token, after none too": {[]stock.PlacedLine{fence(5, "a"), fence(0, "")}, fence(6, "a"), row, false},
		"a token where none was first":  {[]stock.PlacedLine{fence(0, ""), fence(5, "a")}, fence(6, "a"), row, false},
		"another layout":                {[]stock.PlacedLine{fence(0, "")}, stock.PlacedLine{Layout: 4}, row, false},
		"another sale window":           {[]stock.PlacedLine{fence(0, "")}, later, row, false},
	} {
		rows := tables.KnownRows{}
		for _, line := range c.known {
			rows.Add(row, line)
		}
		if got := rows.Agrees(c.at, c.line); got != c.want {
			t.Errorf("%s: agrees is %v, want %v", name, got, c.want)
		}
	}
}
