package tables

import (
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/stock"
)

// CreateSKU implements [stock.Store].
func (b Base) CreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (created bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		created, err = createSKU(ctx, tx, sku, at)
		return err
	})
	return created && err == nil, err
}

// errTried ends a transaction that shall write nothing.
var errTried = errors.New("it was tried only")

// TryCreateSKU implements [stock.Store]: it does the same, and rolls it back.
func (b Base) TryCreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (created bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		if created, err = createSKU(ctx, tx, sku, at); err != nil {
			return err
		}
		return errTried
	})
	if errors.Is(err, errTried) {
		return created, nil
	}
	return false, err
}

func createSKU(ctx context.Context, tx Tx, sku stock.NewSKU, at time.Time) (created bool, err error) {
	var since time.Time
	created, err = One(ctx, tx, []any{(*Time)(&since)}, "insert_sku", sku.SKU, sku.Name, sku.Stock, sku.Segments, At(at),
		Instant(sku.SaleStartsAt), Instant(sku.SaleEndsAt), sku.PerBuyerLimit, sku.MaxQuantity, sku.MaxReserveFor.Microseconds(), sku.LimitGroup)
	if err != nil {
		return false, err
	}
	if !created {
		return false, checkReplay(ctx, tx, sku)
	}
	if err := sku.CheckWindow(since); err != nil {
		return false, err
	}
	write := &Statements{}
	write.Exec("insert_segments", sku.SKU, stock.Spread(sku.Stock, sku.Segments))
	return true, tx.Send(ctx, write)
}

// checkReplay compares a SKU that is to be created with the one that is there already.
func checkReplay(ctx context.Context, q Querier, sku stock.NewSKU) error {
	there := stock.NewSKU{SKU: sku.SKU}
	columns := append([]any{&there.Name, &there.Stock, &there.Segments}, Terms(&there.Terms)...)
	err := Single(ctx, q, columns, "created_sku", sku.SKU)
	if err != nil {
		return err
	}
	return sku.CheckReplay(there)
}

// Archive implements [stock.Store]. It notifies other processes, so that they forget that the SKU has sold out.
func (b Base) Archive(ctx context.Context, sku string, at time.Time) (archived bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		lock, write := &Statements{}, &Statements{}
		all := lock.LockAll(sku)
		if err := tx.Send(ctx, lock); err != nil {
			return err
		}
		if len(*all) == 0 {
			return stock.UnknownSKU(sku)
		}
		if archived = (*all)[0].Layout != stock.ArchivedLayout; archived {
			write.Exec("archive_segments", sku, stock.ArchivedLayout)
			write.Exec("archive_sku", sku, At(at))
			tx.Notify(write, sku)
		}
		return tx.Send(ctx, write)
	})
	return archived && err == nil, err
}

// Status implements [stock.Store].
func (b Base) Status(ctx context.Context, sku string, at time.Time) (stock.Status, error) {
	found, err := b.statuses(ctx, at, "", "", 0, []string{sku})
	if err == nil && len(found) == 0 {
		err = stock.UnknownSKU(sku)
	}
	if err != nil {
		return stock.Status{}, err
	}
	return found[0], nil
}

// Statuses implements [stock.Store].
func (b Base) Statuses(ctx context.Context, after string, limit int) ([]stock.Status, error) {
	return b.statuses(ctx, time.Time{}, after, after, limit, nil)
}

// StatusesOf implements [stock.Store].
func (b Base) StatusesOf(ctx context.Context, skus ...string) (map[string]stock.Status, error) {
	found, err := b.statuses(ctx, time.Time{}, "", "", 0, skus)
	all := make(map[string]stock.Status, len(found))
	for _, status := range found {
		all[status.SKU] = status
	}
	return all, err
}

// statuses reads some SKUs; for nil those from a first one on, without another one.
func (b Base) statuses(ctx context.Context, at time.Time, first, without string, limit int, skus []string) ([]stock.Status, error) {
	return All(ctx, b.DB, func(row Row) (s stock.Status, err error) {
		err = row.Scan(append([]any{&s.SKU, &s.Name, &s.Layout, (*Levels)(&s.Segments), &s.Stock, &s.Reserved, &s.Stale, &s.Counting, (*Time)(&s.LimitSince)}, Terms(&s.Terms)...)...)
		s.Complete()
		return s, err
	}, "statuses", first, without, limit, At(at), b.Swept.Until(at), skus)
}

// Names implements [stock.Store].
func (b Base) Names(ctx context.Context, from string, limit int) ([]stock.SKUName, error) {
	return All(ctx, b.DB, func(row Row) (n stock.SKUName, err error) {
		err = row.Scan(&n.SKU, &n.Name)
		return n, err
	}, "names", from, limit)
}

// Terms returns where to scan the columns of the terms of a SKU.
func Terms(t *stock.Terms) []any {
	return []any{
		(*Time)(&t.SaleStartsAt), (*Time)(&t.SaleEndsAt), &t.PerBuyerLimit, &t.MaxQuantity, (*Micros)(&t.MaxReserveFor),
		(*Time)(&t.ArchivedAt), &t.LimitGroup,
	}
}

// changeTerms changes the name and the terms of a SKU. While the rows of all segments are locked, no other transaction takes units of the
// SKU. So all later orders are counted where they shall be, and the earlier ones are not: CountEarlier counts them.
func changeTerms(ctx context.Context, q Querier, write *Statements, m stock.Movement) error {
	var there stock.Profile
	if err := Single(ctx, q, append([]any{&there.Name}, Terms(&there.Terms)...), "profile", m.SKU); err != nil {
		return err
	}
	now, err := m.Terms.On(there)
	if err != nil {
		return err
	}
	write.Exec("update_profile", m.SKU, now.Name, Instant(now.SaleStartsAt), Instant(now.SaleEndsAt), now.PerBuyerLimit,
		now.MaxQuantity, now.MaxReserveFor.Microseconds(), now.LimitGroup)
	if there.CountedAt(m.SKU) != now.CountedAt(m.SKU) {
		write.Exec("begin_counting", m.SKU)
	}
	return nil
}

// Views implements [stock.Store].
func (b Base) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View, len(skus))
	return views, b.DB.Each(ctx, func(row Row) error {
		var sku string
		var view stock.View
		err := row.Scan(append([]any{
			&sku, &view.Layout, (*Levels)(&view.Segments), (*Levels)(&view.Versions), (*Time)(&view.NextExpiry),
		}, Terms(&view.Terms)...)...)
		views[sku] = view
		return err
	}, "views", skus, b.Swept.Until(time.Time{}))
}

// Ages implements [stock.Store].
func (b Base) Ages(ctx context.Context, skus ...string) (map[string]stock.Age, error) {
	ages := make(map[string]stock.Age, len(skus))
	return ages, b.DB.Each(ctx, func(row Row) error {
		var sku string
		var age stock.Age
		err := row.Scan(&sku, &age.Layout, &age.Version)
		ages[sku] = age
		return err
	}, "ages", skus)
}

// Scanned reads a row into columns, and then calls found. A row that cannot be read, as when the context ends between two of them, is
// not found: the columns may be empty then.
func Scanned(found func(), columns ...any) func(Row) error {
	return func(row Row) error {
		if err := row.Scan(columns...); err != nil {
			return err
		}
		found()
		return nil
	}
}

// SoldOut is [stock.Store.SoldOut] in a transaction that reads one snapshot. scan reads a SKU and an id without a copy.
func SoldOut(ctx context.Context, q Querier, skus []string, limit int, scan func(Row) error) (map[string]stock.View, error) {
	views, err := Base{DB: q}.Views(ctx, skus...)
	if err != nil || limit == 0 {
		return views, err
	}
	gone := slices.DeleteFunc(slices.Clone(skus), func(sku string) bool {
		view, there := views[sku]
		return !there || !view.SoldOut()
	})
	if len(gone) == 0 {
		return views, nil
	}
	return views, q.Each(ctx, scan, "accepted", gone, limit)
}

// aboveSKUs is above every SKU: no character of one is.
const aboveSKUs = "~"

// auditPage is how many SKUs are audited by one statement.
const auditPage = 100

// Audit reads the balances of all SKUs, or of one, in a transaction that reads one snapshot. It tells audited how far it is.
func Audit(ctx context.Context, q Querier, sku string, audited func(done, of int)) (audit stock.Audit, err error) {
	if sku != "" {
		return auditOne(ctx, q, sku)
	}
	incomplete := make(map[string]int64) // lines of orders without a deduction, by SKU
	if err := q.Each(ctx, Into(incomplete), "incomplete_lines"); err != nil {
		return audit, err
	}
	var all int
	if err := Single(ctx, q, []any{&all}, "count_skus"); err != nil {
		return audit, err
	}
	var first, last string
	for {
		found, err := One(ctx, q, []any{&first, &last}, "audit_page", last, auditPage)
		if err != nil {
			return audit, err
		}
		if !found {
			break
		}
		page, err := balances(ctx, q, first, last)
		if err != nil {
			return audit, err
		}
		for i := range page {
			page[i].Fault(incomplete[page[i].SKU], "order lines have no deduction")
		}
		audit.SKUs = append(audit.SKUs, page...)
		if audited != nil {
			audited(len(audit.SKUs), all)
		}
	}
	first, last = stock.Groups()
	return audit, auditGroups(ctx, q, audit, first, last)
}

// auditOne reads the balance of a SKU. No index leads from a SKU to the lines of its orders, so it begins with the deductions.
func auditOne(ctx context.Context, q Querier, sku string) (audit stock.Audit, err error) {
	var unlisted int64
	if err := Single(ctx, q, []any{&unlisted}, "unlisted_deductions", sku); err != nil {
		return audit, err
	}
	audit.SKUs, err = balances(ctx, q, sku, sku)
	switch {
	case err != nil:
		return audit, err
	case audit.SKUs == nil:
		return audit, stock.UnknownSKU(sku)
	}
	b := &audit.SKUs[0]
	b.Fault(unlisted, "deductions are lines of orders that do not list them")
	if b.LimitGroup == "" {
		return audit, nil
	}
	count := stock.CountOf(sku, b.LimitGroup)
	return audit, auditGroups(ctx, q, audit, count, count)
}

// balances reads the balances of the SKUs from one to another, ascending.
func balances(ctx context.Context, q Querier, first, last string) ([]stock.Balance, error) {
	return All(ctx, q, func(row Row) (b stock.Balance, err error) {
		var doubled, uneven, negative, excess, uncounted, mismatched, unadded int64
		err = row.Scan(&b.SKU, &b.Initial, &b.Restocked, &b.Adjusted, &b.WrittenOff, &b.Available, &b.Reserved, &b.Committed, &b.Merges,
			&doubled, &uneven, &negative, &excess, &uncounted, &mismatched, &unadded, &b.LimitGroup)
		b.Fault(doubled, "order ids have more than one deduction")
		b.Fault(uneven, "merged deductions have parts that do not add up")
		b.Fault(negative, "segments hold less than nothing")
		b.Fault(excess, "buyers hold more than their limit, or than they are counted with")
		b.Fault(uncounted, "deductions of buyers are not counted for the limit")
		b.Fault(mismatched, "deductions do not hold what was asked less what was given back")
		b.Fault(unadded, "units of the ledger are missing in its stored sum, or are too many")
		return b, err
	}, "audit", first, last)
}

// auditGroups adds to an audit what is wrong with the counts of groups, from one to another: a SKU of each group tells it.
func auditGroups(ctx context.Context, q Querier, audit stock.Audit, first, last string) error {
	tells := make(map[string]*stock.Balance)
	for i := range audit.SKUs {
		if b := &audit.SKUs[i]; b.LimitGroup != "" {
			tells[stock.CountOf(b.SKU, b.LimitGroup)] = b
		}
	}
	return q.Each(ctx, func(row Row) error {
		var count string
		var wrong int64
		err := row.Scan(&count, &wrong)
		b := tells[count]
		if b == nil && len(audit.SKUs) > 0 { // no SKU is in the group any more
			b = &audit.SKUs[0]
		}
		if b != nil {
			b.Fault(wrong, "buyers hold more than the limit of their group, or than they are counted with")
		}
		return err
	}, "audit_groups", first, last)
}

// HasMoreOrders implements [stock.Store].
func (b Base) HasMoreOrders(ctx context.Context, sku string, than int) (more bool, err error) {
	first, last := sku, sku
	if sku == "" {
		last = aboveSKUs
	}
	return more, Single(ctx, b.DB, []any{&more}, "has_more_orders", first, last, than)
}
