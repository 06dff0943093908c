package replay

import (
	"fmt"
	"strings"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// Result is what came of a replay. Its exported fields are members of its JSON; those up to Errors count lines of the file,
// and every line is in one of them, or unanswered.
type Result struct {
	Lines             int   `json:"lines"`
	Accepted          int   `json:"accepted"`
	SoldOut           int   `json:"sold_out"`
	InsufficientStock int   `json:"insufficient_stock"`
	Restocked         int   `json:"restocked"`
	LeftOut           int   `json:"left_out"`
	Errors            int   `json:"errors"`
	Unanswered        int   `json:"unanswered"` // where the replay was stopped: not sent, or nobody waited for the answer
	UnitsSold         int64 `json:"units_sold"`

	plan        Plan
	answers     Answers
	kinds       [outcomes]kind
	totals      map[string]SKUTotals // by its name in the file
	merges      int64
	wrong       []history.Violation
	started     time.Time
	environment report.Environment
}

// Began tells whether there is anything to tell.
func (r Result) Began() bool { return !r.started.IsZero() }

// SKUTotals are the units of one SKU: as answered, and what the rows have left.
type SKUTotals struct{ Sold, Restocked, Left int64 }

// outcome is what became of a request.
type outcome int

const (
	accepted outcome = iota
	soldOut
	short
	restocked
	failed     // no answer, or one that no request should get
	unanswered // nobody waited
	outcomes
)

func (o outcome) String() string {
	return [...]string{"accepted", "sold out", "insufficient stock", "restocked", "errors", "unanswered"}[o]
}

// kind is what the requests of one outcome have in common.
type kind struct {
	requests, lines int
	waits           *latency.Histogram
}

// NewResult sums up what was answered, and the rows of the SKUs that begin with a prefix.
func NewResult(plan Plan, prefix string, answers Answers, rows history.Rows, wrong []history.Violation) Result {
	r := Result{Lines: plan.Lines, LeftOut: plan.LeftOut, plan: plan, answers: answers, totals: map[string]SKUTotals{}, wrong: wrong}
	for i := range r.kinds {
		r.kinds[i].waits = latency.New()
	}
	for _, s := range rows.SKUs {
		r.totals[strings.TrimPrefix(s.Name, prefix)] = SKUTotals{Left: s.Available}
		r.merges += s.Merges
	}
	for i, q := range plan.Requests {
		r.count(q, answers.outcome(i), i)
	}
	r.Accepted, r.SoldOut, r.InsufficientStock = r.kinds[accepted].lines, r.kinds[soldOut].lines, r.kinds[short].lines
	r.Restocked, r.Errors, r.Unanswered = r.kinds[restocked].lines, r.kinds[failed].lines, r.kinds[unanswered].lines
	return r
}

func (r *Result) count(q Request, became outcome, i int) {
	k := &r.kinds[became]
	k.requests, k.lines = k.requests+1, k.lines+q.Stands
	if became != unanswered && len(r.answers.Operations[i].Attempts) > 0 {
		k.waits.Record(r.answers.Latency(i))
	}
	for _, line := range q.Lines {
		of := r.totals[line.SKU]
		switch became {
		case accepted:
			of.Sold += line.Quantity
			r.UnitsSold += line.Quantity
		case restocked:
			of.Restocked += line.Quantity
		}
		r.totals[line.SKU] = of
	}
}

// outcome is what became of the i-th request.
func (a Answers) outcome(i int) outcome {
	kind, became := a.Operations[i].Kind, a.Replies[i].Outcome
	switch {
	case became.Done() && kind == history.Restock:
		return restocked
	case became.Done():
		return accepted
	case became == load.SoldOut && kind.Takes():
		return soldOut
	case became == load.InsufficientStock && kind.Takes():
		return short
	case a.Interrupted && became != load.Refused:
		return unanswered
	default:
		return failed
	}
}

// AuditOK tells whether the rows hold what was answered, and every unit adds up.
func (r Result) AuditOK() bool { return len(r.wrong) == 0 }

// Err tells in one line why the replay did not succeed; nil if it did.
func (r Result) Err() error {
	var errs []string
	if r.Errors > 0 {
		errs = append(errs, fmt.Sprintf("%d lines failed, first: %v", r.Errors, r.answers.FirstError))
	}
	if n := len(r.wrong); n > 0 {
		errs = append(errs, fmt.Sprintf("the audit failed: %d problems, first: %s: %s", n, r.wrong[0].Name, r.wrong[0].What))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(errs, "; and "))
}

// Totals are those of every SKU, by its name in the file.
func (r Result) Totals() map[string]SKUTotals { return r.totals }
