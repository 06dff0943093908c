package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/report"
)

// Part is a part of a run, such as a round.
type Part struct {
	Name string
	*Result
}

// Closed is what became of operations in a closed loop, where each is due when it is sent first.
func Closed(start time.Time, operations []history.Operation) *Result {
	r := &Result{Load: Load{Start: start, At: make([]time.Duration, len(operations)), Operations: operations}, Replies: make([]Reply, len(operations))}
	for i, o := range operations {
		if len(o.Attempts) > 0 {
			r.At[i], r.Replies[i] = o.Attempts[0].Sent.Sub(start), replyOf(o, start)
			r.Elapsed = max(r.Elapsed, r.Replies[i].Over)
		}
	}
	return r
}

// Raw is each attempt of each operation, and how long those took that came to one outcome.
func Raw(parts ...Part) report.Raw {
	raw := report.Raw{
		Columns: []string{
			"part", "operation", "kind", "id", "ref", "buyer", "lines", "reserve_for", "planned",
			"attempt", "process", "sent", "deadline", "ended", "outcome", "status", "code", "state", "quantity", "expires",
		},
		Rows: func(yield func([]string) bool) {
			for _, p := range parts {
				if !p.rows(yield) {
					return
				}
			}
		},
	}
	for _, p := range parts {
		for _, o := range Outcomes() {
			if waits := p.Latencies(o); waits.Count() > 0 {
				counts, _ := waits.MarshalText() // which only memory could make fail
				of := p.Name + ": " + o.String()
				raw.Waits = append(raw.Waits, report.Waits{Of: of, From: p.Start, To: p.Start.Add(p.Elapsed), Counts: counts})
			}
		}
	}
	return raw
}

// rows are one of each attempt, and one of an operation that was never tried. It reports false if no more are wanted.
func (p Part) rows(yield func([]string) bool) bool {
	for i, o := range p.Operations {
		head := []string{
			p.Name, strconv.Itoa(i + 1), o.Kind.String(), o.ID, o.Ref, o.Buyer, lines(o.Lines), span(o.ReserveFor), instant(p.Start.Add(p.At[i])),
		}
		if len(o.Attempts) == 0 && !yield(append(head, "0", "", "", "", "", p.Replies[i].Outcome.String(), "", "", "", "", "")) {
			return false
		}
		for n, a := range o.Attempts {
			if !yield(slices.Concat(head, tried(n+1, a))) {
				return false
			}
		}
	}
	return true
}

// tried are the cells of an attempt.
func tried(n int, a history.Attempt) []string {
	return []string{
		strconv.Itoa(n), strconv.Itoa(a.Process), instant(a.Sent), instant(a.Deadline), instant(a.Ended), OutcomeOf(a).String(),
		strconv.Itoa(a.Answer.Status), a.Answer.Code, a.Answer.State, strconv.FormatInt(a.Answer.Quantity, 10), instant(a.Answer.Expires),
	}
}

func lines(all []history.Line) string {
	words := make([]string, len(all))
	for i, line := range all {
		words[i] = fmt.Sprintf("%s:%d", line.SKU, line.Quantity)
	}
	return strings.Join(words, " ")
}

func instant(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
