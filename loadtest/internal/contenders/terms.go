package contenders

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/experiment"
)

const (
	plainName = "inventory, plain"
	termsName = "inventory, limit, window and reservations"
	// buyerLimit is how many units one buyer may have, and more than an honest one asks for.
	buyerLimit = 2
	// reserveFor is longer than a case takes: nothing expires under it.
	reserveFor = "15m"
	// saleLasts is how long the window of a sale is open before and after now.
	saleLasts = 24 * time.Hour
)

// underTerms compares the sale of a SKU that asks for nothing with one that counts what each buyer has, is open for a while,
// and is sold as reservations, each to a buyer of its own.
func underTerms(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	many, now := w.scale.many(), time.Now()
	limited := stock.Terms{PerBuyerLimit: buyerLimit, SaleStartsAt: now.Add(-saleLasts), SaleEndsAt: now.Add(saleLasts)}
	return []*entrant{
		site.entrant(plainName, load{connections: many}),
		site.entrantUnder(limited, termsName, load{connections: many, buyer: newBuyers, reserveFor: reserveFor}),
	}, nil
}

func termsTargets(s Scale) []experiment.Target {
	return []experiment.Target{
		atLeast("limit, window and reservations, in parts of plain deductions", counted, at(termsName, s.many()), at(plainName, s.many()), 0.80),
	}
}
