package selling

import (
	"context"

	"inventory/internal/stock"
)

// refuseOrder returns why the views do not allow a new order of several SKUs that the terms allow; nil if they do. It saves
// a write of line after line just to find out. The views are one snapshot, so the refusal was true. Only an order that was
// accepted before gets another answer.
//
// If expired reservations have not been given back, it gives them back and returns ErrLayout: read the views again.
func (s *Service) refuseOrder(ctx context.Context, p stock.Placement, views map[string]stock.View) (refusal, err error) {
	held, err := s.heldBy(ctx, p)
	if err != nil {
		return nil, err
	}
	for i, line := range p.Order.Lines {
		view := views[line.SKU]
		left := stock.Sum(view.Segments)
		limited := p.Lines[i].Limit > 0 && held[line.SKU]+line.Quantity > p.Lines[i].Limit
		switch {
		case !limited && left >= line.Quantity:
			continue
		case s.over(line.SKU, view.NextExpiry):
			if err := s.expire(ctx, line.SKU); err != nil {
				return nil, err
			}
			return nil, stock.ErrLayout
		case limited:
			return stock.BuyerLimited(line.SKU, p.Lines[i].Limit), nil
		default:
			return stock.Shortage(line.SKU, left), nil
		}
	}
	return nil, nil
}

// heldBy reads how many units the buyer of an order holds of each of its SKUs that has a buyer limit.
func (s *Service) heldBy(ctx context.Context, p stock.Placement) (map[string]int64, error) {
	var limited []string
	for i, line := range p.Lines {
		if line.Limit > 0 {
			limited = append(limited, p.Order.Lines[i].SKU)
		}
	}
	if limited == nil {
		return nil, nil
	}
	return s.store.BuyerUnits(ctx, p.Order.BuyerID, limited)
}
