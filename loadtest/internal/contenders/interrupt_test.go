package contenders

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/reconcile"
)

// ledgerWorld has two contenders that sell 10 a round into a book, and the book. The second one's second round is cut short:
// of two more nobody heard, and one has a row.
func ledgerWorld(cancel func()) (*world, question, *stock.Audit) {
	rows := &stock.Audit{}
	w := &world{Config: Config{Config: experiment.Config{Seed: 1}, Scale: Scale{Rounds: 3}}, expected: reconcile.Expected{}}
	w.audits = []auditor{func(ctx context.Context) (stock.Audit, error) { return *rows, ctx.Err() }}
	of := func(name string) *entrant {
		e := &entrant{name: name, ours: true, callers: 4}
		e.measure = func(context.Context) (round, error) {
			r := round{sku: fmt.Sprintf("%s-%d", name, len(e.skus)), counts: load.Counts{load.Accepted: 10}, took: time.Second}
			committed, err := int64(10), error(nil)
			if name == "b" && len(e.skus) == 1 {
				cancel()
				r.unanswered, committed, err = 2, 11, context.Canceled
			}
			rows.SKUs = append(rows.SKUs, stock.Balance{SKU: r.sku, Initial: 100, Available: 100 - committed, Committed: committed})
			return r, err
		}
		return e
	}
	return w, question{
		name: "sale", ratio: "a", about: "b",
		ask:     func(context.Context, *world) ([]*entrant, error) { return []*entrant{of("a"), of("b")}, nil },
		targets: []experiment.Target{atLeast("all", at("b", 4), at("a", 4), 1)},
	}, rows
}

func TestAnInterruptKeepsWholeRoundsAndAudits(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	w, q, rows := ledgerWorld(func() { cancel(why) })
	r, err := asked(ctx, w, q)
	if !errors.Is(err, why) {
		t.Errorf("ended with %v", err)
	}
	d, text, _ := told(t, r)
	if !d.Interrupted || !d.AuditOK || len(d.Wrong) > 0 || !strings.Contains(text, fmt.Sprintf("audit of %d SKUs: OK", len(rows.SKUs))) || !strings.Contains(text, "stopped early") {
		t.Errorf("%s", text)
	}
	// Each has one whole round, though more SKUs were sold.
	entries := r.Results[0].Entries()
	if len(entries) != 2 || entries[0]["accepted_per_second"] != 10. || entries[1]["accepted_per_second"] != 10. || entries[1]["rows"] != 10. || len(r.Targets()) > 0 {
		t.Errorf("%+v", entries)
	}
}

// asked is the result of a request.
func asked(ctx context.Context, w *world, q question) (r Result, err error) {
	err = r.Ask(ctx, experiment.Config{Progress: func(string) {}}, []experiment.Asked{{Name: q.name, Ask: func(ctx context.Context) (experiment.Result, error) { return w.answer(ctx, q) }}})
	return r, err
}

func TestALateAuditFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(w *world, rows *stock.Audit)
		says  string
	}{
		"a row too many": {func(_ *world, rows *stock.Audit) {
			rows.SKUs = append(rows.SKUs, stock.Balance{SKU: "stranger", Initial: 1, Committed: 1})
		}, "SKU stranger: 1 orders have rows"},
		"no database": {func(w *world, _ *stock.Audit) {
			w.audits = []auditor{func(context.Context) (stock.Audit, error) { return stock.Audit{}, errors.New("it is gone") }}
		}, "no audit could be made: it is gone"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		w, q, rows := ledgerWorld(cancel)
		c.spoil(w, rows)
		r, err := asked(ctx, w, q)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		d, _, _ := told(t, r)
		if d.AuditOK || len(d.Wrong) != 1 || !strings.HasPrefix(d.Wrong[0], c.says) {
			t.Errorf("%s: %q", name, d.Wrong)
		}
	}
}
