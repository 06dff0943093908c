package app

import (
	"context"
	"errors"

	"inventory/internal/stock"
)

// ListOrders builds the indexes that a list of orders needs, or removes them, also while services use the database.
func ListOrders(ctx context.Context, databaseURL string, on bool) (err error) {
	store, err := openBeside(ctx, databaseURL, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.ListOrders(ctx, on)
}

// exportPage is how many lines are read at once.
const exportPage = 1000

// Export calls report for each line of the orders that a query asks for, oldest first.
func Export(ctx context.Context, databaseURL string, query stock.OrderQuery, report func(stock.Deduction) error) (err error) {
	query.Limit, query.Scan = exportPage, 5*exportPage
	if err := query.Check(); err != nil {
		return ConfigError{err}
	}
	store, err := openBeside(ctx, databaseURL, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if listed, err := store.OrdersListed(ctx); err != nil {
		return err
	} else if !listed {
		return stock.OrdersNotListed()
	}
	for more := true; more; more = query.After != (stock.LinePosition{}) {
		page, err := store.OrderLines(ctx, query)
		if err != nil {
			return err
		}
		for _, line := range page.Lines {
			if err := report(line); err != nil {
				return err
			}
		}
		query.After = page.Next
	}
	return nil
}
