package contenders

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"inventory/internal/stock"
	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
)

// world is what one case stands on: databases of its own, what runs on them, and what buyers were told.
type world struct {
	servers   servers.URLs
	keep      bool // its databases: their server goes soon, and dropping one takes a checkpoint
	scale     Scale
	seed      uint64
	worker    []string
	generator generator
	keys      keys // of a case over HTTP
	told      books.Ledger
	books     []book
	closers   []func(context.Context) error
}

// book is a place where sales are written down.
type book func(ctx context.Context) (stock.Audit, error)

func (w *world) onClose(undo func(context.Context) error) { w.closers = append(w.closers, undo) }

// close undoes what the case did, the last first.
func (w *world) close(ctx context.Context) error {
	var errs []error
	for _, undo := range slices.Backward(w.closers) {
		errs = append(errs, undo(ctx))
	}
	return errors.Join(errs...)
}

// narrow: intervals need not be narrower.
const narrow = 1.05

// answer lets the entrants of a case play until ctx ends, and audits what came of it.
func (w *world) answer(ctx context.Context, q question) (result experiment.Result, err error) {
	defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
	if q.http {
		if err := w.issueKeys(); err != nil {
			return experiment.Result{}, err
		}
	}
	entrants, err := q.ask(ctx, w)
	if err != nil {
		return experiment.Result{}, err
	}
	result = experiment.Run(ctx, w.caseOf(q, entrants), experiment.Rules{Seed: w.seed, Window: w.scale.Window, Rounds: w.scale.Rounds, Narrow: narrow})
	return result, w.audit(ctx, &result, entrants)
}

// caseOf is a question as a case.
func (w *world) caseOf(q question, entrants []*entrant) experiment.Case {
	who := "callers"
	if q.http {
		who = "connections"
	}
	c := experiment.Case{
		Factors: []string{"", who}, Over: true, Metrics: metrics(),
		Ratios: []experiment.Ratio{{Name: "ratio", Head: "x " + q.ratio, Metric: counted, To: func(_ experiment.Result, c experiment.Contender) string {
			return q.ratio + strings.TrimPrefix(c.Name, c.Levels[0]) // with as many callers
		}}},
		About: func(r experiment.Result) []string { return []string{mostCallers(r, q.about)} },
	}
	if q.targets != nil {
		c.Targets = q.targets(w.scale)
	}
	for _, e := range entrants {
		c.Contenders = append(c.Contenders, w.contender(e))
	}
	return c
}

// mostCallers is the contender of a name with the most callers.
func mostCallers(r experiment.Result, name string) (found string) {
	for _, c := range r.Case.Contenders {
		if c.Levels[0] == name {
			found = c.Name // they become more
		}
	}
	return found
}

// audit holds all rows against one another, and against what buyers were told, and adds how many rows contenders have. One
// that cannot be made after ctx has ended is told of, and costs nothing else.
func (w *world) audit(ctx context.Context, result *experiment.Result, entrants []*entrant) error {
	patience, cancel := books.Patience(ctx)
	defer cancel()
	var all stock.Audit
	for _, audit := range w.books {
		one, err := audit(patience)
		if err != nil && ctx.Err() != nil {
			result.Wrong = []string{fmt.Sprintf("no audit could be made: %v", err)}
			return nil
		}
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		all.SKUs = append(all.SKUs, one.SKUs...)
	}
	result.SKUs, result.Wrong = len(all.SKUs), w.told.Against(all)
	orders := map[string]int64{}
	for _, balance := range all.SKUs {
		orders[balance.SKU] = balance.Reserved + balance.Committed - w.told.Before(balance.SKU)
	}
	for _, e := range entrants {
		e.noteRows(result, orders)
	}
	return nil
}

// noteRows adds how many rows each round has; where all sell one SKU, its rows are those of the first.
func (e *entrant) noteRows(result *experiment.Result, orders map[string]int64) {
	for i, round := range result.Rounds {
		sample := round[at(e.name, e.callers)]
		if sample == nil {
			continue
		}
		if sample[rows] = 0; !slices.Contains(e.skus[:i], e.skus[i]) {
			sample[rows] = float64(orders[e.skus[i]])
		}
	}
}

// folder makes a temporary folder.
func (w *world) folder() (string, error) {
	folder, err := os.MkdirTemp("", "inventory-loadtest-")
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	w.onClose(func(context.Context) error { return os.RemoveAll(folder) })
	return folder, nil
}

// sqlite returns the URL of a SQLite file that is not there yet, and audits it.
func (w *world) sqlite() (string, error) {
	folder, err := w.folder()
	if err != nil {
		return "", err
	}
	databaseURL := "sqlite:" + filepath.Join(folder, "inventory.db")
	w.auditDatabase(databaseURL)
	return databaseURL, nil
}

// postgres makes an empty database on the PostgreSQL server, and audits it. On a server of others it is dropped in the
// end.
func (w *world) postgres(ctx context.Context) (string, error) {
	databaseURL, drop, err := servers.CreateDatabase(ctx, w.servers.DatabaseURL, "contenders_")
	if err != nil {
		return "", err
	}
	if !w.keep {
		w.onClose(drop)
	}
	w.auditDatabase(databaseURL)
	return databaseURL, nil
}

func (w *world) auditDatabase(databaseURL string) {
	w.books = append(w.books, func(ctx context.Context) (stock.Audit, error) { return books.Audit(ctx, databaseURL) })
}
