package replay

import "fmt"

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

	plan       Plan
	tally      *Tally
	comparison Comparison
	where      string
}

// NewResult sums a replay up. where says where it was sent.
func NewResult(plan Plan, tally *Tally, comparison Comparison, where string) Result {
	return Result{
		Lines:             plan.Lines,
		Accepted:          tally.Kinds[Accepted].Lines,
		SoldOut:           tally.Kinds[SoldOut].Lines,
		InsufficientStock: tally.Kinds[InsufficientStock].Lines,
		Restocked:         tally.Kinds[Restocked].Lines,
		LeftOut:           plan.LeftOut,
		Errors:            tally.Kinds[Failed].Lines,
		Unanswered:        plan.Lines - plan.LeftOut - tally.All().Lines,
		UnitsSold:         tally.Sum().Sold,
		plan:              plan, tally: tally, comparison: comparison, where: where,
	}
}

// AuditOK tells whether the rows hold what was answered, and every unit adds up.
func (r Result) AuditOK() bool { return r.comparison.OK() }

// Err tells in one line why the replay did not succeed; nil if it did.
func (r Result) Err() error {
	var failed error
	if r.Errors > 0 {
		failed = fmt.Errorf("%d lines failed, first: %w", r.Errors, r.tally.FirstError)
	}
	problems := r.comparison.Problems
	switch {
	case len(problems) == 0:
		return failed
	case failed == nil:
		return fmt.Errorf("the audit failed: %d problems, first: %s", len(problems), problems[0])
	}
	return fmt.Errorf("%w; and the audit failed: %d problems, first: %s", failed, len(problems), problems[0])
}

func (r Result) left() (units int64) {
	for _, of := range r.comparison.Left {
		units += of
	}
	return units
}

// SKUTotals are the units of one SKU: as answered, and what the rows have left.
type SKUTotals struct {
	Units
	Left int64
}

// Totals are those of every SKU, by its name in the file.
func (r Result) Totals() map[string]SKUTotals {
	totals := map[string]SKUTotals{}
	for i, sku := range r.plan.SKUs {
		totals[sku.Name] = SKUTotals{r.tally.Units[i], r.comparison.Left[i]}
	}
	return totals
}
