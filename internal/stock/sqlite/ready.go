package sqlite

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/stock"
)

// A number in the file that nobody reads. It is written even if it is the same, and a commit of it takes room on the disk:
// what is rolled back takes none.
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
