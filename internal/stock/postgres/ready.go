package postgres

import (
	"context"
	"fmt"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// True for a standby, and for a server that is set to read-only.
const isReadOnly = `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean`

// Ready implements [stock.Store].
func (s *Store) Ready(ctx context.Context) error {
	var readOnly bool
	if err := tables.Single(ctx, s.pool, []any{&readOnly}, isReadOnly); err != nil {
		return fmt.Errorf("reach PostgreSQL: %w", err)
	}
	if readOnly {
		return fmt.Errorf("%w: it is a standby or read-only", stock.ErrNotWritable)
	}
	return nil
}
