package sqlite

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/stock"
)

// touch writes a number into the file that is never read. SQLite writes it even if it is the same, and its commit needs space
// on the disk: a rollback would need none.
const touch = `PRAGMA user_version = 0`

// Ready implements [stock.Store].
func (s *Store) Ready(ctx context.Context) error {
	if err := s.Ping(ctx); err != nil {
		return err
	}
	err := s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		_, err := tx.ExecContext(ctx, touch)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", stock.ErrNotWritable, err)
	}
	return nil
}
