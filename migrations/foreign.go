package migrations

import (
	"context"
	"errors"
	"fmt"
)

// ErrForeign is returned for a database that another program has created: it has a table with the name of one of ours that
// no step here has created, or steps that are not ours. Nothing is written to it.
var ErrForeign = errors.New("the database belongs to another program")

// ErrEarly is returned for a database from before 0.1.0 that lacks a step of that time. Nothing is written to it.
var ErrEarly = errors.New(
	"the database is older than 0.1.0: `inventory migrate up` of commit d8931e44 brings it to step 46, which this program takes")

// checkOwn returns ErrForeign for the database of another program, and ErrEarly for one that is too old. Processes that migrate
// meanwhile do not change the result: they make the tables and the mark in one transaction.
func (m *Migrator) checkOwn(ctx context.Context) error {
	var before, after bool
	if err := m.db.QueryRowContext(ctx, m.dialect.hasSKUs).Scan(&before); err != nil {
		return fmt.Errorf("look for our tables: %w", err)
	}
	status, err := m.status(ctx, m.db)
	if err != nil && !errors.Is(err, ErrEarly) {
		return err
	}
	if err := m.db.QueryRowContext(ctx, m.dialect.hasSKUs).Scan(&after); err != nil {
		return fmt.Errorf("look for our tables: %w", err)
	}
	switch {
	case before && status.Version == 0 && err == nil:
		return fmt.Errorf("%w: it has a table skus, which no migration of ours has made", ErrForeign)
	case !after && (status.Version > 0 || err != nil):
		return fmt.Errorf("%w: its schema_migrations has steps, but there is no table skus", ErrForeign)
	}
	return err
}
