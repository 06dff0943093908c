package contenders

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"inventory/internal/latency"
	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// ledger is a case of two contenders that sell 10 a round into a book. The second one's second round is cut short: of two more
// nobody heard, and one has a row.
func ledger(cancel func()) (*world, question, *stock.Audit) {
	rows := &stock.Audit{}
	w := &world{Config: Config{Config: experiment.Config{Seed: 1}}, scale: scale{rounds: 3}, expected: history.Expected{}}
	w.audits = []history.Auditor{func(ctx context.Context) (stock.Audit, error) { return *rows, ctx.Err() }}
	seller := func(name string) entrant {
		n := 0
		return entrant{name: name, callers: 4, play: func(context.Context) (sold, error) {
			n++
			waits := latency.New()
			for range 10 {
				waits.Record(time.Millisecond)
			}
			r := sold{sku: fmt.Sprintf("%s-%d", name, n), Sale: load.Sale{Counts: load.Counts{load.Accepted: 10}, Took: time.Second, Waits: waits}}
			committed, err := int64(10), error(nil)
			if name == "b" && n == 2 {
				cancel()
				r.Unanswered, committed, err = 2, 11, context.Canceled
			}
			rows.SKUs = append(rows.SKUs, stock.Balance{SKU: r.sku, Initial: 100, Available: 100 - committed, Committed: committed})
			return r, err
		}}
	}
	return w, question{name: "sale", ratio: "a", about: "b", targets: []experiment.Target{
		experiment.AtLeast("all", experiment.Times(counted, at("b", 4), at("a", 4)), 1),
	}, ask: func(ctx context.Context, w *world) error {
		w.enter(ctx, seller("a"))
		w.enter(ctx, seller("b"))
		return nil
	}}, rows
}

// asked is the result of the case, and its section.
func asked(ctx context.Context, w *world, q question) (r experiment.Result, s report.Section, err error) {
	r, err = w.answer(ctx, q)
	r.Name, r.Interrupted = q.name, ctx.Err() != nil
	return r, r.Section(), err
}

func TestInterruptKeepsWholeRoundsAndAudits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w, q, rows := ledger(cancel)
	r, s, err := asked(ctx, w, q)
	if notes := fmt.Sprint(s.Notes); err != nil || len(r.Wrong) > 0 || !strings.Contains(notes, fmt.Sprintf("audit of %d SKUs: OK", len(rows.SKUs))) || !strings.Contains(notes, "stopped early") {
		t.Errorf("%v: %q, %s", err, r.Wrong, notes)
	}
	// Each has one whole round, though more SKUs were sold.
	if got := fmt.Sprint(s.Table.Rows[0][:3], s.Table.Rows[1][:3]); got != "[a 4 10] [b 4 10]" || len(s.Targets) > 0 {
		t.Errorf("%s, targets %v", got, s.Targets)
	}
}

func TestLateAuditFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(w *world, rows *stock.Audit)
		says  string
	}{
		"a row too many": {func(_ *world, rows *stock.Audit) {
			rows.SKUs = append(rows.SKUs, stock.Balance{SKU: "stranger", Initial: 1, Committed: 1})
		}, "SKU stranger: 1 orders have rows"},
		"no database": {func(w *world, _ *stock.Audit) {
			w.audits = []history.Auditor{func(context.Context) (stock.Audit, error) { return stock.Audit{}, errors.New("it is gone") }}
		}, "no audit could be made: it is gone"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		w, q, rows := ledger(cancel)
		c.spoil(w, rows)
		r, _, err := asked(ctx, w, q)
		if err != nil || len(r.Wrong) != 1 || !strings.HasPrefix(r.Wrong[0], c.says) {
			t.Errorf("%s: %v, %q", name, err, r.Wrong)
		}
	}
}
