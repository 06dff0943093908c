package years

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// The SKUs of fill.sql.
const (
	hot     = "sku-1" // has a tenth of all orders
	moved   = "sku-2" // has a tenth as many movements
	usual   = "sku-5" // has about a hundred orders, and reservations
	untaken = "sku-4" // has no reservations
	another = "sku-6"
)

// operation is a read or a write. id is another one each time.
type operation struct {
	name string
	do   func(ctx context.Context, s *postgres.Store, id string) error
}

// operations are all reads and writes that are measured.
func operations() []operation {
	status := func(sku string) func(context.Context, *postgres.Store, string) error {
		return func(ctx context.Context, s *postgres.Store, _ string) error {
			_, err := s.Status(ctx, sku, time.Time{})
			return err
		}
	}
	move := func(sku string, kind stock.MovementKind, units int64) func(context.Context, *postgres.Store, string) error {
		return func(ctx context.Context, s *postgres.Store, id string) error {
			_, err := s.Move(ctx, stock.Movement{SKU: sku, Ref: id, Kind: kind, Quantity: units})
			return err
		}
	}
	return []operation{
		{"read a SKU with few movements", status(usual)},
		{"read a SKU with many movements", status(moved)},
		{"read a SKU with many orders", status(hot)},
		{"list a page of SKUs", func(ctx context.Context, s *postgres.Store, _ string) error {
			_, err := s.Statuses(ctx, "", 100)
			return err
		}},
		{"restock a SKU with many movements", move(moved, stock.Restocked, 1)},
		{"adjust a SKU with many movements", move(moved, stock.Adjusted, -1)},
		{"read a page of many movements", func(ctx context.Context, s *postgres.Store, _ string) error {
			_, err := s.Movements(ctx, moved, stock.Position{}, 100)
			return err
		}},
		{"deduct from a SKU with many orders", takeUnit(hot, 0, false)},
		{"reserve from a SKU with many orders", takeUnit(hot, time.Hour, false)},
		{"reserve, commit", takeUnit(usual, time.Hour, false, stock.SettleRequest{})},
		{"reserve, cancel", takeUnit(usual, time.Hour, false, stock.SettleRequest{Verb: stock.Cancel})},
		{"merge from a SKU with many orders", takeUnit(hot, 0, true)},
		{"take a basket of three", basket},
		{"sweep, with nothing expired", func(ctx context.Context, s *postgres.Store, _ string) error {
			due, err := s.Expired(ctx, time.Time{}, 1000)
			if err == nil && len(due) > 0 {
				err = fmt.Errorf("%d SKUs are due", len(due))
			}
			return err
		}},
		{"look for expired reservations of a SKU", func(ctx context.Context, s *postgres.Store, _ string) error {
			_, err := s.Expire(ctx, usual, time.Time{})
			return err
		}},
		{"read an order", func(ctx context.Context, s *postgres.Store, _ string) error {
			_, err := s.Deduction(ctx, hot, "none")
			if stock.CodeOf(err) == stock.CodeUnknownDeduction {
				return nil
			}
			return err
		}},
		{"read a page of many orders", func(ctx context.Context, s *postgres.Store, _ string) error {
			_, err := s.DeductionPage(ctx, stock.DeductionQuery{SKU: hot, Limit: 100})
			return err
		}},
		{"audit a SKU with few orders", func(ctx context.Context, s *postgres.Store, _ string) error {
			audit, err := s.Audit(ctx, another, nil)
			if err == nil && !audit.OK() {
				err = fmt.Errorf("%+v", audit)
			}
			return err
		}},
		{"read the state of the outbox", func(ctx context.Context, s *postgres.Store, _ string) error {
			_, err := s.Outbox().Status(ctx)
			return err
		}},
	}
}

// takeUnit takes a unit, from one segment or from all, and settles it.
func takeUnit(sku string, reserve time.Duration, merge bool, settle ...stock.SettleRequest) func(context.Context, *postgres.Store, string) error {
	return func(ctx context.Context, s *postgres.Store, id string) error {
		batch := stock.Batch{SKU: sku, Layout: 1, Orders: []stock.Order{{OrderID: id, Quantity: 1, ReserveFor: reserve}}}
		write := s.Deduct
		if merge {
			write = s.Merge
		}
		result, err := write(ctx, batch)
		if err == nil && result.Outcomes[0].Kind != stock.Accepted {
			err = fmt.Errorf("%+v", result.Outcomes[0])
		}
		for _, request := range settle {
			if err != nil {
				return err
			}
			request.OrderID = id
			var settled []stock.Settled
			if settled, err = s.Settle(ctx, stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{request}}); err == nil {
				err = settled[0].Err
			}
		}
		return err
	}
}

// basket takes a unit of each of three SKUs.
func basket(ctx context.Context, s *postgres.Store, id string) error {
	p := stock.Placement{Order: stock.MultiOrder{OrderID: id}}
	for _, sku := range []string{hot, untaken, another} {
		p.Order.Lines = append(p.Order.Lines, stock.Line{SKU: sku, Quantity: 1})
		p.Lines = append(p.Lines, stock.PlacedLine{Batch: stock.Batch{Layout: 1}})
	}
	_, created, err := s.Order(ctx, p)
	if err == nil && !created {
		err = fmt.Errorf("the order %s was there", id)
	}
	return err
}
