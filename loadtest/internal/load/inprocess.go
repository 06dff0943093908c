package load

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
		return Became(err)
	}
}

// Became is what became of an order, by the error of the service. A refusal for want of stock is no error.
func Became(err error) (Outcome, error) {
	switch stock.CodeOf(err) {
	case "":
		return Accepted, nil
	case stock.CodeSoldOut, stock.CodeInsufficientStock:
		return Refused, nil
	case stock.CodeOverloaded:
		return Overloaded, err
	}
	return Unknown, err
}

// Among has each order choose its SKU at random; of none it keeps its own.
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
	patience = 20 * time.Second       // after its window, for a final answer
	pause    = 100 * time.Millisecond // before a patient caller retries
)

// Patient does as callers should: it asks again where the outcome is not known. An overloaded service counts as a refusal. So it is
// known of each order whether it has a row.
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
