package contenders

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/app"
	"inventory/internal/stock"
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
	told      ledger
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

// answer lets the entrants of a case take turns, and audits what came of it.
func (w *world) answer(ctx context.Context, q question) (c Case, err error) {
	defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
	entrants, err := q.ask(ctx, w)
	if err != nil {
		return Case{}, err
	}
	rounds := w.scale.Rounds
	if q.slices {
		rounds *= w.scale.Slices
	}
	for round := range rounds {
		for _, e := range compare.InTurn(entrants, round) {
			e.play(ctx, w.told, round)
			if ctx.Err() != nil {
				return Case{}, context.Cause(ctx)
			}
		}
	}
	c = Case{Name: q.name, http: q.http, ratio: q.ratio}
	rows, err := w.audit(ctx, &c)
	if err != nil {
		return Case{}, err
	}
	c.Entries = entries(entrants, rows, q.ratio)
	if q.targets != nil {
		c.Targets = q.targets(c, w.scale)
	}
	return c, nil
}

// auditLimit bounds the audit of one book, which may have millions of rows.
const auditLimit = 10 * time.Minute

// audit holds all rows against one another, and against what buyers were told. It returns the orders of each SKU.
func (w *world) audit(ctx context.Context, c *Case) (rows map[string]int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, auditLimit)
	defer cancel()
	var all stock.Audit
	for _, audit := range w.books {
		one, err := audit(ctx)
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		all.SKUs = append(all.SKUs, one.SKUs...)
	}
	c.SKUs, c.Wrong = len(all.SKUs), w.told.against(all)
	rows = map[string]int64{}
	for _, balance := range all.SKUs {
		rows[balance.SKU] = balance.Committed - w.told[balance.SKU].before
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
	parsed, err := url.Parse(w.servers.DatabaseURL)
	if err != nil {
		return "", errors.New("database URL: not a valid postgres:// URL") // err would quote the password
	}
	name := newName("contenders_")
	if err := execute(ctx, w.servers.DatabaseURL, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", fmt.Errorf("make a database for the case: %w", err)
	}
	w.onClose(func(ctx context.Context) error {
		if w.keep {
			return nil
		}
		drop := "DROP DATABASE " + pgx.Identifier{name}.Sanitize() + " WITH (FORCE)"
		if err := execute(ctx, w.servers.DatabaseURL, drop); err != nil {
			return fmt.Errorf("drop the database of the case: %w", err)
		}
		return nil
	})
	parsed.Path = "/" + name
	w.auditDatabase(parsed.String())
	return parsed.String(), nil
}

func (w *world) auditDatabase(databaseURL string) {
	w.books = append(w.books, func(ctx context.Context) (audit stock.Audit, err error) {
		store, err := app.OpenForReading(ctx, databaseURL)
		if err != nil {
			return stock.Audit{}, err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		return store.Audit(ctx)
	})
}

// execute runs statements, one after another, over a connection of their own.
func execute(ctx context.Context, databaseURL string, statements ...string) error {
	connection, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return errors.Join(err, connection.Close(ctx))
		}
	}
	return connection.Close(ctx)
}

// newName is one that nobody has: of a database, or of a SKU, whose locks are named after it.
func newName(prefix string) string { return prefix + strings.ToLower(rand.Text()[:12]) }
