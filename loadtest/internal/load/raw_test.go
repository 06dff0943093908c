package load

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/loadtest/internal/history"
)

// TestEachAttemptIsARow, and what was never tried is one too.
func TestEachAttemptIsARow(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	operations := orders(3)
	operations[0].Buyer, operations[0].ReserveFor = "ann", time.Minute
	operations[0].Lines = append(operations[0].Lines, history.Line{SKU: "cold", Quantity: 2})
	operations[0].Attempts = []history.Attempt{
		{Process: 2, Sent: at(ms), Deadline: at(time.Second), Ended: at(3 * ms)},
		{Sent: at(5 * ms), Ended: at(7 * ms), Answer: history.Answer{
			Status: http.StatusCreated, State: "reserved", Quantity: 3, Expires: at(time.Minute),
		}},
	}
	operations[1].Attempts = []history.Attempt{{Sent: at(2 * ms), Ended: at(4 * ms), Answer: history.Answer{Status: http.StatusConflict, Code: history.SoldOut}}}
	open := &Result{Load: Load{Start: start, At: []time.Duration{ms, 2 * ms, 3 * ms}, Operations: operations}, Replies: []Reply{
		{Sent: ms, Over: 7 * ms, Outcome: Accepted},
		{Sent: 2 * ms, Over: 4 * ms, Outcome: SoldOut},
		{Over: 9 * ms, Outcome: Dropped},
	}}
	const day = "2026-01-02T03:04:"
	for name, c := range map[string]struct {
		result *Result
		last   string // of what was never tried
		waits  string
	}{
		"open":   {open, "1,3,deduct,o,,,hot:1,," + day + "05.003Z,0,,,,,dropped,,,,,", "1: accepted; 1: sold_out; 1: dropped"},
		"closed": {Closed(start, operations), "1,3,deduct,o,,,hot:1,," + day + "05Z,0,,,,,not_sent,,,,,", "1: accepted; 1: sold_out"},
	} {
		raw := Raw(Part{"1", c.result})
		var got, waits []string
		for row := range raw.Rows {
			if len(row) != len(raw.Columns) {
				t.Errorf("%s: %d cells, %d columns", name, len(row), len(raw.Columns))
			}
			got = append(got, strings.Join(row, ","))
		}
		for _, w := range raw.Waits {
			waits = append(waits, w.Of)
		}
		want := []string{
			"1,1,deduct,o,,ann,hot:1 cold:2,1m0s," + day + "05.001Z,1,2," + day + "05.001Z," + day + "06Z," + day + "05.003Z,unknown,0,,,0,",
			"1,1,deduct,o,,ann,hot:1 cold:2,1m0s," + day + "05.001Z,2,0," + day + "05.005Z,," + day + "05.007Z,accepted,201,,reserved,3,2026-01-02T03:05:05Z",
			"1,2,deduct,o,,,hot:1,," + day + "05.002Z,1,0," + day + "05.002Z,," + day + "05.004Z,sold_out,409,sold_out,,0,",
			c.last,
		}
		if !slices.Equal(got, want) || strings.Join(waits, "; ") != c.waits {
			t.Errorf("%s: waits %q, rows\n%s\ninstead of\n%s", name, waits, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for row := range raw.Rows { // a reader may stop early
			if row[1] == "1" {
				break
			}
		}
	}
}
