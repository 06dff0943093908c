package contenders

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"inventory/internal/stock"
	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/servers"
)

// world is what one case stands on: databases of its own, what runs on them, and what buyers were told.
type world struct {
	servers   servers.URLs
	keep      bool // its databases: their server goes soon, and dropping one takes a checkpoint
	scale     Scale
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

// answer lets the entrants of a case take turns until ctx ends, and audits what came of it.
func (w *world) answer(ctx context.Context, q question) (c Case, err error) {
	defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
	if q.http {
		if err := w.issueKeys(); err != nil {
			return Case{}, err
		}
	}
	entrants, err := q.ask(ctx, w)
	if err != nil {
		return Case{}, err
	}
	w.play(ctx, q, entrants)
	c = Case{Name: q.name, http: q.http, ratio: q.ratio, about: q.about, Unfinished: ctx.Err() != nil}
	rows, err := w.audit(ctx, &c)
	if err != nil {
		return Case{}, err
	}
	c.Entries = entries(entrants, rows, q.ratio)
	if q.targets != nil && !c.Unfinished {
		c.Targets = q.targets(c, w.scale)
	}
	return c, nil
}

// play lets entrants take turns.
func (w *world) play(ctx context.Context, q question, entrants []*entrant) {
	rounds := w.scale.Rounds
	if q.slices {
		rounds *= w.scale.Slices
	}
	for round := range rounds {
		for _, e := range compare.InTurn(entrants, round) {
			if e.play(ctx, w.told, round); ctx.Err() != nil {
				return
			}
		}
	}
}

// audit holds all rows against one another, and against what buyers were told. It returns the orders of each SKU. One
// that cannot be made after ctx has ended is told of, and costs nothing else.
func (w *world) audit(ctx context.Context, c *Case) (rows map[string]int64, err error) {
	patience, cancel := books.Patience(ctx)
	defer cancel()
	var all stock.Audit
	for _, audit := range w.books {
		one, err := audit(patience)
		if err != nil && ctx.Err() != nil {
			c.Wrong = []string{fmt.Sprintf("no audit could be made: %v", err)}
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		all.SKUs = append(all.SKUs, one.SKUs...)
	}
	c.SKUs, c.Wrong = len(all.SKUs), w.told.Against(all)
	rows = map[string]int64{}
	for _, balance := range all.SKUs {
		rows[balance.SKU] = balance.Reserved + balance.Committed - w.told.Before(balance.SKU)
	}
	return rows, nil
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
