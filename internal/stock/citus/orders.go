package citus

import (
	"context"
	"fmt"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// Order implements [stock.Store]. The coordinator takes an order in one transaction over the nodes of its SKUs, in two phases:
// Citus finishes it if a node or the coordinator fails in between. An order that is there already is read from its nodes.
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	if !placement.KnownOnly {
		err = s.again(ctx, func(*placements) error {
			lines, created, err = s.whole.Order(ctx, placement)
			return err
		})
		if created || err != nil {
			return lines, created, err
		}
	}
	there, err := s.placed(ctx, placement.Order.OrderID)
	if err != nil {
		return nil, false, err
	}
	lines, err = placement.Replay(there)
	return lines, false, err
}

// placed reads an order, nil if there is none. Between the two phases of its transaction some of its lines may be missing:
// then it returns an error, because the outcome is not known.
func (s *Store) placed(ctx context.Context, orderID string) (*stock.PlacedOrder, error) {
	type row struct {
		order *stock.PlacedOrder
		skus  []string
	}
	there, err := on(ctx, s, orderID, func(o *postgres.Store) (r row, err error) {
		r.order, r.skus, err = o.PlacedOrder(ctx, orderID)
		return r, err
	})
	if err != nil || there.order == nil {
		return nil, err
	}
	for _, sku := range there.skus {
		found, err := s.Deductions(ctx, sku, []string{orderID})
		if err != nil {
			return nil, err
		}
		line, settled := found[orderID]
		if !settled {
			return nil, fmt.Errorf("read order %q: its line of SKU %q is not there yet", orderID, sku)
		}
		there.order.Lines = append(there.order.Lines, line)
	}
	return there.order, nil
}
