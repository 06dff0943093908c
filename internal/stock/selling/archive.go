package selling

import (
	"context"

	"inventory/internal/stock"
)

// Archive ends the sale of a SKU for good, and returns the SKU. An order that comes at the same
// time is sold before it, or refused. Live reservations end as they would have. A repeated call does nothing more.
func (s *Service) Archive(ctx context.Context, sku string) (stock.Status, error) {
	if err := stock.CheckSKU(sku); err != nil {
		return stock.Status{}, err
	}
	writing, done, err := s.writeContext(ctx)
	if err != nil {
		return stock.Status{}, err
	}
	defer done()
	archived := false
	_, err = s.underAllLocks(writing, sku, func() error {
		archived, err = s.store.Archive(writing, sku, s.at())
		return err
	})
	s.onRestock(sku) // also after an error: the change may be committed
	if err != nil {
		return stock.Status{}, stock.Unavailable(err, "archive SKU")
	}
	status, err := s.SKU(ctx, sku)
	if archived {
		err = stock.AfterWrite(err, "read the archived SKU")
	}
	return status, err
}
