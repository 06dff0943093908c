package selling

import (
	"context"

	"inventory/internal/stock"
)

// refuseOrder is why a new order of several SKUs cannot be placed although its terms allow it, as far as the views show; nil
// if it can. It saves writing line after line to find out. The views are a snapshot, so what they show was true. Only an
// order that is there already gets another answer.
//
// If reservations have expired whose units are not back, it gives them back, and has the order looked up anew: ErrLayout.
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
		case s.over(view.NextExpiry):
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

// heldBy reads what the buyer of an order has of those of its SKUs that have a buyer limit.
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
