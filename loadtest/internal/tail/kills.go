package tail

import (
	"fmt"
	"strconv"

	"inventory/loadtest/internal/report"
)

// kills tells of each holder that was killed, and of the requests that it had.
func (r Result) kills() report.Section {
	s := report.Section{Name: "The holders that were killed", Table: &report.Table{Columns: []string{
		"round", "killed at s", "lock of segment", "held when gone", "lease left s", "tries",
		"in flight: 200", "201", "refused", "sent to the dead: 200", "201", "refused", "sent elsewhere", "never told",
	}}}
	for _, round := range r.of(true) {
		if round.Strike == nil {
			continue
		}
		k := round.Strike
		cells := []string{
			strconv.Itoa(round.Number), fmt.Sprintf("%.2f", k.At), strconv.Itoa(k.Segment), strconv.FormatBool(k.Held),
			fmt.Sprintf("%.2f", k.LeaseLeft), strconv.Itoa(k.Tries),
		}
		for _, d := range []Doubts{round.InFlight, round.SentToTheDead} {
			cells = append(cells, strconv.FormatInt(d.Replayed, 10), strconv.FormatInt(d.Accepted, 10), strconv.FormatInt(d.Refused, 10))
		}
		cells = append(cells, strconv.FormatInt(round.SentElsewhere, 10), strconv.FormatInt(round.NeverTold, 10))
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	s.Notes = []string{
		"Each process was stopped while it had the lock of a segment, and killed if it had it still (tries: how often it was stopped). " +
			"Held when gone: Redis named it when it was dead, for as long as its lease was left.",
		"In flight: sent before it died, and never answered. Sent to the dead: over connections of which nobody knew yet. All were asked again " +
			"under the same order id at another process: 200 had been sold to them before, 201 was sold to them then. " +
			"Sent elsewhere: those who found no connection any more.",
		"Each order that was told of its units has one row of that quantity, and nobody else has any; or else the audit has failed.",
	}
	return s
}
