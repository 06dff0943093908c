package crowd

import (
	"context"
	"math/rand/v2"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// Through sells through a service.
func Through(service *selling.Service) Seller {
	return func(ctx context.Context, o Order) (Outcome, error) {
		_, _, err := service.Deduct(ctx, o.SKU, stock.Order{OrderID: o.ID, Quantity: 1})
		switch stock.CodeOf(err) {
		case "":
			return Accepted, nil
		case stock.CodeSoldOut, stock.CodeInsufficientStock:
			return Refused, nil
		default:
			return Refused, err
		}
	}
}

// Among has each order choose its SKU by chance; of none it keeps its own.
func Among(skus []string, sell Seller) Seller {
	if len(skus) == 0 {
		return sell
	}
	return func(ctx context.Context, o Order) (Outcome, error) {
		o.SKU = skus[rand.IntN(len(skus))]
		return sell(ctx, o)
	}
}

const (
	patience = 20 * time.Second       // after its window, for an answer that says what happened
	pause    = 100 * time.Millisecond // before a patient caller asks again
)

// Patient does as callers should: it asks again where the outcome is not known, and takes for a refusal that too many
// wait. So it knows of each order whether it has a row.
func Patient(sell Seller) Seller {
	return func(ctx context.Context, o Order) (Outcome, error) {
		for {
			became, err := sell(ctx, o)
			switch stock.CodeOf(err) {
			case stock.CodeOverloaded:
				return Refused, nil
			case stock.CodeUnavailable:
			default:
				return became, err
			}
			if ctx.Err() != nil || time.Now().After(o.End.Add(patience)) {
				return became, err
			}
			time.Sleep(pause)
		}
	}
}
