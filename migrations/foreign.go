package migrations

import (
	"context"
	"errors"
	"fmt"
)

// ErrForeign is returned for a database that another program has created: it has a table with the name of one of ours that
// no step here has created, or steps that are not ours. Nothing is written to it.
var ErrForeign = errors.New("the database belongs to another program")

// checkOwn returns ErrForeign for the database of another program. Processes that migrate meanwhile do not change the result.
// Earlier releases mark a step as begun before it runs, so checkOwn reads whether the first step's table is there before it reads
// the mark. They mark it as done after it ran, so checkOwn reads once more afterwards.
func (m *Migrator) checkOwn(ctx context.Context) error {
	var before, after bool
	if err := m.db.QueryRowContext(ctx, m.dialect.hasSKUs).Scan(&before); err != nil {
		return fmt.Errorf("look for our tables: %w", err)
	}
	status, err := m.status(ctx, m.db)
	if err != nil {
		return err
	}
	if err := m.db.QueryRowContext(ctx, m.dialect.hasSKUs).Scan(&after); err != nil {
		return fmt.Errorf("look for our tables: %w", err)
	}
	switch {
	case status.Dirty:
		return nil
	case before && status.Version == 0:
		return fmt.Errorf("%w: it has a table skus, which no migration of ours has made", ErrForeign)
	case !after && status.Version > 0:
		return fmt.Errorf("%w: its schema_migrations has steps, but there is no table skus", ErrForeign)
	}
	return nil
}
