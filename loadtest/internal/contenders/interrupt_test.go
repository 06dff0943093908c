package contenders

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/report"
)

// ledgerWorld has two contenders that sell 10 a round into a book, and the book. The second one's second round is cut short:
// of two more nobody heard, and one has a row.
func ledgerWorld(cancel func()) (*world, question, *stock.Audit) {
	rows := &stock.Audit{}
	w := &world{scale: Scale{Rounds: 3}, told: books.Ledger{}}
	w.books = []book{func(ctx context.Context) (stock.Audit, error) { return *rows, ctx.Err() }}
	of := func(name string) *entrant {
		e := &entrant{name: name, ours: true, callers: 4}
		e.measure = func(context.Context) (round, error) {
			r := round{sku: fmt.Sprintf("%s-%d", name, len(e.rounds)), counts: crowd.Counts{Accepted: 10}, took: time.Second}
			committed, err := int64(10), error(nil)
			if name == "b" && len(e.rounds) == 1 {
				cancel()
				r.unheard, committed, err = 2, 11, context.Canceled
			}
			rows.SKUs = append(rows.SKUs, stock.Balance{SKU: r.sku, Initial: 100, Available: 100 - committed, Committed: committed})
			return r, err
		}
		return e
	}
	return w, question{
		name: "sale", ratio: "a", about: "b",
		ask:     func(context.Context, *world) ([]*entrant, error) { return []*entrant{of("a"), of("b")}, nil },
		targets: func(Case, Scale) []report.Target { return []report.Target{report.AtLeast("all", 0, 1)} },
	}, rows
}

func TestAnInterruptKeepsWholeRoundsAndAudits(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	w, q, _ := ledgerWorld(func() { cancel(why) })
	var r Result
	if err := r.ask(ctx, w, q); !errors.Is(err, why) {
		t.Errorf("ended with %v", err)
	}
	d, text, _ := told(t, r)
	if !d.Interrupted || !d.AuditOK || len(d.Wrong) > 0 || !strings.Contains(text, "audit of 3 SKUs: OK") || !strings.Contains(text, "stopped early") {
		t.Errorf("%s", text)
	}
	// The second round begins with the second contender, so each has one whole round, though three SKUs were sold.
	c := r.Cases[0]
	if len(c.Entries) != 2 || c.Entries[0].Accepted != 10 || c.Entries[1].Accepted != 10 || c.Entries[1].Rows != 10 || len(c.Targets) > 0 {
		t.Errorf("%+v", c)
	}
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
			w.books = []book{func(context.Context) (stock.Audit, error) { return stock.Audit{}, errors.New("it is gone") }}
		}, "no audit could be made: it is gone"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		w, q, rows := ledgerWorld(cancel)
		c.spoil(w, rows)
		var r Result
		if err := r.ask(ctx, w, q); err == nil {
			t.Errorf("%s: no error", name)
		}
		d, _, _ := told(t, r)
		if d.AuditOK || len(d.Wrong) != 1 || !strings.HasPrefix(d.Wrong[0], c.says) {
			t.Errorf("%s: %q", name, d.Wrong)
		}
	}
}
