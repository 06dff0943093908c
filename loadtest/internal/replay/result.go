package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
)

// Result is what came of a replay. Its exported fields are its JSON; those up to Errors count lines of the file, and
// every line is in one of them.
type Result struct {
	Lines             int     `json:"lines"`
	Accepted          int     `json:"accepted"`
	SoldOut           int     `json:"sold_out"`
	InsufficientStock int     `json:"insufficient_stock"`
	Restocked         int     `json:"restocked"`
	LeftOut           int     `json:"left_out"`
	Errors            int     `json:"errors"`
	UnitsSold         int64   `json:"units_sold"`
	ElapsedSeconds    float64 `json:"elapsed_seconds"`
	AuditOK           bool    `json:"audit_ok"`

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
		UnitsSold:         tally.Sum().Sold,
		ElapsedSeconds:    tally.Elapsed.Seconds(),
		AuditOK:           comparison.OK(),
		plan:              plan, tally: tally, comparison: comparison, where: where,
	}
}

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

// PrintJSON prints one object.
func (r Result) PrintJSON(to io.Writer) error { return json.NewEncoder(to).Encode(r) }

// Print prints the result for a person.
func (r Result) Print(to io.Writer) error {
	all := r.tally.All()
	perSecond := 0.0
	if r.ElapsedSeconds > 0 {
		perSecond = float64(all.Latency.Count()) / r.ElapsedSeconds // those that were sent
	}
	const day = "2 January 2006"
	var text strings.Builder
	fmt.Fprintf(&text, "Replay of %s order lines, %s to %s, with %s SKUs\nsent to %s\n\n", comma(r.Lines),
		r.plan.From.Format(day), r.plan.To.Format(day), comma(len(r.plan.SKUs)), r.where)
	if err := r.printTable(&text, all); err != nil {
		return err
	}
	sum := r.tally.Sum()
	fmt.Fprintf(&text, "\n  units     %s sold, %s restocked, %s left; %s merges\n",
		comma(sum.Sold), comma(sum.Restocked), comma(r.left()), comma(r.comparison.Merges))
	fmt.Fprintf(&text, "  time      %.2f s, %s requests a second\n", r.ElapsedSeconds, comma(int64(perSecond)))
	fmt.Fprintf(&text, "  audit     %s\n", r.verdict())
	_, err := io.WriteString(to, text.String())
	return err
}

func comma[N int | int64](n N) string { return humanize.Comma(int64(n)) }

// printTable prints a row for each outcome: lines and requests, and how long the answers took.
func (r Result) printTable(to io.Writer, all Kind) error {
	all.Lines = r.Lines
	rows := "\tlines\trequests\tp50 ms\tp99 ms\tmax ms\t\n"
	for outcome, kind := range r.tally.Kinds {
		rows += kind.row(Outcome(outcome).String())
	}
	rows += "left out\t" + comma(r.LeftOut) + "\t-\t-\t-\t-\t\n" + all.row("all")
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(table, rows); err != nil {
		return err
	}
	return table.Flush()
}

// row is the row of a kind. Where nothing was answered there is no latency.
func (k Kind) row(name string) string {
	counts := fmt.Sprintf("%s\t%s\t%s\t", name, comma(k.Lines), comma(k.Requests))
	if k.Latency.Count() == 0 {
		return counts + "-\t-\t-\t\n"
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return counts + fmt.Sprintf("%.2f\t%.2f\t%.2f\t\n",
		ms(k.Latency.Quantile(50)), ms(k.Latency.Quantile(99)), ms(k.Latency.Max()))
}

func (r Result) left() (units int64) {
	for _, of := range r.comparison.Left {
		units += of
	}
	return units
}

func (r Result) verdict() string {
	if r.AuditOK {
		return "OK: the rows hold what was answered, and every unit adds up"
	}
	return fmt.Sprintf("FAILED: %d problems", len(r.comparison.Problems))
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
