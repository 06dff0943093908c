package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"inventory/internal/copying"
	"inventory/internal/stock"
	"inventory/migrations"
)

// Copying is a copy of the database of a stopped service into an empty one of another kind.
type Copying struct {
	From, To string // URLs, of which one is sqlite:FILE
	DryRun   bool   // the rows are only counted
	// Progress is told how many rows there are, and returns what is called for each that is copied.
	Progress func(rows int) (copied func())
}

// Copied is what was copied, or would be.
type Copied struct {
	From, To string // without secrets
	Tables   []copying.Table
	Audit    stock.Audit // which is the same for both databases
}

// ErrAuditsDiffer means that a database does not add up as the one that it was copied from.
var ErrAuditsDiffer = errors.New("the audits of the two databases differ")

// Copy copies a database, all or nothing, and audits both. It migrates the target up first.
func Copy(ctx context.Context, c Copying) (done Copied, err error) {
	from, to, err := c.databases()
	if err != nil {
		return done, err
	}
	done.From, done.To = from.String(), to.String()
	releaseFrom, err := from.own(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, releaseFrom()) }()
	outboxOn, err := check(ctx, from, to)
	if err != nil {
		return done, err
	}
	source, err := from.openToCopy(ctx, false)
	if err != nil {
		return done, fmt.Errorf("copy from %s: %w", from, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if done.Tables, err = source.Count(ctx, copied(from, to)); err != nil || c.DryRun {
		return done, err
	}
	releaseTo, err := to.own(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, releaseTo()) }()
	if err := to.fill(ctx, source, done.Tables, outboxOn, c.Progress); err != nil {
		return done, fmt.Errorf("copy to %s: %w", to, err)
	}
	done.Audit, err = sameAudit(ctx, from, to)
	return done, err
}

// databases returns the two databases. Of databases of one kind, a backup is a copy: it keeps what cursors and sequences mean.
func (c Copying) databases() (from, to database, err error) {
	if from, err = parseDatabase(c.From); err != nil {
		return from, to, fmt.Errorf("--from: %w", err)
	}
	if to, err = parseDatabase(c.To); err != nil {
		return from, to, fmt.Errorf("--to: %w", err)
	}
	if (from.file == "") == (to.file == "") {
		return from, to, ConfigError{errors.New("one of --from and --to must be sqlite:FILE, and the other postgres://… or citus://…: " +
			"within one kind, restore a backup")}
	}
	from, err = existing(c.From)
	return from, to, err
}

// copied returns the names of the tables that are copied.
func copied(from, to database) []string {
	return slices.DeleteFunc(copying.Tables(), func(table string) bool { return table == "outbox" && (from.citus || to.citus) })
}

// check refuses what cannot be copied, before anything is written. It returns whether the source's outbox is on.
func check(ctx context.Context, from, to database) (outboxOn bool, err error) {
	for _, d := range []database{from, to} {
		status, err := d.status(ctx)
		if err != nil {
			return false, err
		}
		if status.Newer() {
			return false, fmt.Errorf("%s has the schema of a newer program, at version %d: copy with that program", d, status.Version)
		}
	}
	if err := from.upToDate(ctx); err != nil {
		return false, fmt.Errorf("%s: %w", from, err)
	}
	status, err := from.outboxStatus(ctx)
	if err == nil && (from.citus || to.citus) && (status.On || status.Rows > 0) {
		err = errors.New("an outbox is not copied from or to Citus, where each node has its own: turn it off, read it to the end, and trim it")
	}
	return status.On, err
}

func (d database) openToCopy(ctx context.Context, write bool) (*copying.Database, error) {
	if d.file != "" {
		return copying.OpenSQLite(ctx, d.file, write)
	}
	if err := d.asItSays(ctx); err != nil {
		return nil, err
	}
	return copying.OpenPostgres(ctx, d.postgresURL, d.citus, write)
}

// fill brings the schema of a target up to date, and copies the tables into it.
func (d database) fill(
	ctx context.Context, source *copying.Database, tables []copying.Table, outboxOn bool, progress func(int) func(),
) (err error) {
	if err := d.migrate(func(m *migrations.Migrator) error { return m.Up(ctx) }); err != nil {
		return err
	}
	status, err := d.outboxStatus(ctx)
	if err == nil && status.On {
		err = errors.New("the outbox is on, and would list what is copied: turn it off")
	}
	if err != nil {
		return err
	}
	target, err := d.openToCopy(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	rows := 0
	for _, table := range tables {
		rows += table.Rows
	}
	return copying.Copy(ctx, source, target, tables, outboxOn, progress(rows))
}

// sameAudit audits two databases, and returns an error if they do not have the same balances.
func sameAudit(ctx context.Context, one, other database) (audit stock.Audit, err error) {
	var audits [2]stock.Audit
	for i, d := range []database{one, other} {
		store, err := d.open(ctx, true)
		if err != nil {
			return audit, err
		}
		audits[i], err = store.Audit(ctx, "", nil)
		if err := errors.Join(err, store.Close()); err != nil {
			return audit, fmt.Errorf("audit %s: %w", d, err)
		}
		slices.SortFunc(audits[i].SKUs, func(a, b stock.Balance) int { return cmp.Compare(a.SKU, b.SKU) })
	}
	if !slices.EqualFunc(audits[0].SKUs, audits[1].SKUs, func(a, b stock.Balance) bool { return reflect.DeepEqual(a, b) }) {
		return audit, fmt.Errorf("%w: do not sell from %s", ErrAuditsDiffer, other)
	}
	return audits[0], nil
}
