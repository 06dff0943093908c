package years_test

import (
	"strconv"
	"strings"
	"testing"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/years"
)

// TestOldDataCostsNothing: no read and no write touches more pages among ten times as many orders, but for the pages by which an index
// has become higher.
func TestOldDataCostsNothing(t *testing.T) {
	busytest.Slow(t)
	const few = 10_000
	d, err := years.Run(t.Context(), years.Config{Orders: 10 * few, Few: few, Times: 5, Seed: 1, Progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	table := d.Sections[0].Table
	for _, row := range table.Rows {
		number := func(column int) float64 {
			n, err := strconv.ParseFloat(strings.ReplaceAll(row[column], ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		const higher, slack = 1.5, 8
		if before, after := number(4), number(5); after > higher*before+slack {
			t.Errorf("%s touches %.0f pages, and %.0f among a tenth of the orders", row[0], after, before)
		}
	}
	for _, row := range d.Sections[1].Table.Rows {
		t.Log(row)
	}
}
