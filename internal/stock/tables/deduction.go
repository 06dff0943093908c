package tables

import (
	"cmp"
	"context"
	"time"

	"inventory/internal/stock"
)

// Deduction is where the columns of a deduction are scanned: sku_id, order_id, quantity, asked, status, created_at, committed_at,
// expires_at, reserve_micros, committed, and the texts.
type Deduction struct {
	deduction stock.Deduction
	reserve   time.Duration // 0: from its creation to the expiry
}

// Columns returns where to scan the columns.
func (r *Deduction) Columns() []any {
	d := &r.deduction
	columns := []any{
		&d.SKU, &d.OrderID, &d.Quantity, &d.Order.Quantity, &d.Status, (*Time)(&d.CreatedAt), (*Time)(&d.CommittedAt),
		(*Time)(&d.ExpiresAt), (*Micros)(&r.reserve), &d.Committed,
	}
	for _, text := range stock.KeptTexts() {
		columns = append(columns, text.Of(&d.Order))
	}
	return columns
}

// Read returns what was scanned last. The row of a deduction that was committed at once says so by having no expiry.
func (r *Deduction) Read() stock.Deduction {
	d := r.deduction
	switch d.ReserveFor = r.reserve; {
	case d.ExpiresAt.IsZero():
		d.CommittedAt = cmp.Or(d.CommittedAt, d.CreatedAt)
	case r.reserve == 0:
		d.ReserveFor = d.ExpiresAt.Sub(d.CreatedAt)
	}
	return d
}

// EachDeduction reads rows of such columns.
func EachDeduction(found func(stock.Deduction)) func(Row) error {
	var r Deduction
	columns := r.Columns()
	return func(row Row) error {
		if err := row.Scan(columns...); err != nil {
			return err
		}
		found(r.Read())
		return nil
	}
}

// DeductionsByID reads rows of such columns into a map by their order ids.
func DeductionsByID(into map[string]stock.Deduction) func(Row) error {
	return EachDeduction(func(d stock.Deduction) { into[d.OrderID] = d })
}

// ByIDs reads the deductions that order ids have, without their parts.
func ByIDs(ctx context.Context, q Querier, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	found := make(map[string]stock.Deduction)
	return found, q.Each(ctx, DeductionsByID(found), "deductions_by_id", sku, orderIDs)
}

// Deductions implements [stock.Store].
func (b Base) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return ByIDs(ctx, b.DB, sku, orderIDs)
}

// inOrder reads deductions in the order of a query.
func inOrder(ctx context.Context, q Querier, query string, args ...any) (found []stock.Deduction, err error) {
	err = q.Each(ctx, EachDeduction(func(d stock.Deduction) { found = append(found, d) }), query, args...)
	return found, err
}

// WithParts reads deductions by a query whose rows have, after the columns of a [Deduction], the segment and the quantity of a
// part, whether several segments gave, whether it is a line of an order, and where its buyer is counted. The rows of each deduction come
// together, ascending by segment.
func WithParts(ctx context.Context, q Querier, query string, args ...any) (found []stock.Deduction, err error) {
	var r Deduction
	var part stock.Part
	var merged, inOrder bool
	var countedAt string
	columns := append(r.Columns(), &part.Segment, &part.Quantity, &merged, &inOrder, &countedAt)
	err = q.Each(ctx, func(row Row) error {
		if err := row.Scan(columns...); err != nil {
			return err
		}
		if n := len(found); n == 0 || found[n-1].OrderID != r.deduction.OrderID {
			found = append(found, r.Read())
		}
		last := &found[len(found)-1]
		last.Parts, last.Merged, last.InOrder, last.CountedAt = append(last.Parts, part), merged, inOrder, countedAt
		return nil
	}, query, args...)
	return found, err
}

// Deduction implements [stock.Store].
func (b Base) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	found, err := WithParts(ctx, b.DB, "deduction", sku, orderID)
	if err == nil && found == nil {
		if err = SKUExists(ctx, b.DB, sku); err == nil {
			err = stock.UnknownDeduction(sku, orderID)
		}
	}
	if err != nil {
		return stock.Deduction{}, err
	}
	found[0].Merged, found[0].CountedAt = false, "" // only writes need it
	return found[0], nil
}

// DeductionPage implements [stock.Store]. It reads the end of the page first: what is inserted between the two statements makes
// the page longer, and the next page begins after it.
func (b Base) DeductionPage(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error) {
	var last string
	after, until := query.Between()
	bounded, err := One(ctx, b.DB, []any{&last}, "page_end", query.SKU, after, query.Bound()-1)
	if err != nil {
		return stock.DeductionPage{}, err
	}
	if bounded = bounded && last <= until; bounded {
		until = last
	} else {
		last = ""
	}
	found, err := inOrder(ctx, b.DB, "page", query.SKU, after, until, query.BuyerID, string(query.Status), query.Others(), query.Limit)
	if err == nil && found == nil && !bounded {
		err = SKUExists(ctx, b.DB, query.SKU)
	}
	return query.Page(found, last), err
}

// BuyerOrders implements [stock.Store].
func (b Base) BuyerOrders(ctx context.Context, count, buyerID string, own bool, limit int) ([]stock.Deduction, error) {
	query := "orders_of_buyer"
	if stock.IsGroup(count) {
		query = "orders_in_group"
	}
	return inOrder(ctx, b.DB, query, count, buyerID, stock.OrderKey(buyerID, ""), own, limit)
}

// DueInGroup implements [stock.Store].
func (b Base) DueInGroup(ctx context.Context, count string, buyerIDs []string, at time.Time) ([]string, error) {
	return All(ctx, b.DB, Value[string], "due_in_group", count, buyerIDs, At(at))
}
