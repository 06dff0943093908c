package tables

import (
	"context"

	"inventory/internal/stock"
)

// OrdersListed implements [stock.Store].
func (b Base) OrdersListed(ctx context.Context) (listed bool, err error) {
	return listed, Single(ctx, b.DB, []any{&listed}, "orders_listed")
}

// OrderLines implements [stock.Store]. As [Base.DeductionPage] does, it reads the end of the page first.
func (b Base) OrderLines(ctx context.Context, q stock.OrderQuery) (page stock.LinePage, err error) {
	after, until := q.Between()
	only, without := q.Keys()
	lines, end, buyer := "lines", "lines_end", []any(nil)
	if q.BuyerID != "" {
		lines, end, buyer = "lines_of_buyer", "lines_of_buyer_end", []any{q.BuyerID}
	}
	last := until
	more, err := One(ctx, b.DB, []any{(*Time)(&last.At), &last.SKU, &last.OrderID}, end,
		append([]any{after.At, after.SKU, after.OrderID, until.At, max(q.Scan, q.Limit) - 1}, buyer...)...)
	if err != nil {
		return page, err
	}
	page.Lines, err = b.lines(ctx, lines, append([]any{
		after.At, after.SKU, after.OrderID, last.At, last.SKU, last.OrderID, string(q.Status), only, without, q.Limit,
	}, buyer...)...)
	if len(page.Lines) == q.Limit {
		page.Next = stock.LineOf(page.Lines[q.Limit-1])
	} else if more {
		page.Next = last
	}
	return page, err
}

// lines reads lines by a query whose rows have, after the columns of a [Deduction], whether it is a line of an order of several SKUs.
func (b Base) lines(ctx context.Context, query string, args ...any) (found []stock.Deduction, err error) {
	var r Deduction
	var inOrder bool
	columns := append(r.Columns(), &inOrder)
	err = b.DB.Each(ctx, func(row Row) error {
		if err := row.Scan(columns...); err != nil {
			return err
		}
		d := r.Read()
		d.InOrder = inOrder
		found = append(found, d)
		return nil
	}, query, args...)
	return found, err
}
