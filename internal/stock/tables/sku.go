package tables

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// CreateSKU implements [stock.Store].
func (b Base) CreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (created bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		var since time.Time
		created, err = One(ctx, tx, []any{(*Time)(&since)}, "insert_sku", sku.SKU, sku.Name, sku.Stock, sku.Segments, At(at),
			Instant(sku.SaleStartsAt), Instant(sku.SaleEndsAt), sku.PerBuyerLimit, sku.MaxQuantity, sku.MaxReserveFor.Microseconds())
		if err != nil {
			return err
		}
		if !created {
			return checkReplay(ctx, tx, sku)
		}
		if err := sku.CheckWindow(since); err != nil {
			return err
		}
		write := &Statements{}
		write.Exec("insert_segments", sku.SKU, stock.Spread(sku.Stock, sku.Segments))
		return tx.Send(ctx, write)
	})
	return created && err == nil, err
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
	found, err := b.statuses(ctx, sku, "", 1, at)
	if err == nil && (len(found) == 0 || found[0].SKU != sku) {
		err = stock.UnknownSKU(sku)
	}
	if err != nil {
		return stock.Status{}, err
	}
	return found[0], nil
}

// Statuses implements [stock.Store].
func (b Base) Statuses(ctx context.Context, after string, limit int) ([]stock.Status, error) {
	return b.statuses(ctx, after, after, limit, time.Time{})
}

// statuses reads SKUs from a first one on, without another one.
func (b Base) statuses(ctx context.Context, first, without string, limit int, at time.Time) ([]stock.Status, error) {
	return All(ctx, b.DB, func(row Row) (s stock.Status, err error) {
		err = row.Scan(append([]any{&s.SKU, &s.Name, &s.Layout, (*Levels)(&s.Segments), &s.Stock, &s.Reserved, &s.Stale}, Terms(&s.Terms)...)...)
		s.Complete()
		return s, err
	}, "statuses", first, without, limit, At(at), b.Swept.Until(at))
}

// Terms returns where to scan the columns of the terms of a SKU.
func Terms(t *stock.Terms) []any {
	return []any{
		(*Time)(&t.SaleStartsAt), (*Time)(&t.SaleEndsAt), &t.PerBuyerLimit, &t.MaxQuantity, (*Micros)(&t.MaxReserveFor),
		(*Time)(&t.ArchivedAt),
	}
}

// changeTerms changes the name and the terms of a SKU. While the rows of all segments are locked, no other transaction takes or
// gives back units of the SKU, so what buyers hold does not change.
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
		now.MaxQuantity, now.MaxReserveFor.Microseconds())
	switch {
	case there.PerBuyerLimit == 0 && now.PerBuyerLimit > 0: // count what each buyer holds
		write.Exec("count_all_buyers", m.SKU, now.PerBuyerLimit)
		write.Exec("mark_limited", m.SKU, stock.MostMarked)
	case there.PerBuyerLimit > 0 && now.PerBuyerLimit == 0:
		write.Exec("drop_buyers", m.SKU)
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

// SoldOut is [stock.Store.SoldOut] in a transaction that reads one snapshot. scan reads an id without a copy.
func SoldOut(ctx context.Context, q Querier, sku string, limit int, scan func(Row) error) (view stock.View, err error) {
	views, err := Base{DB: q}.Views(ctx, sku)
	view, there := views[sku]
	switch {
	case err != nil:
		return view, err
	case !there:
		return view, stock.UnknownSKU(sku)
	case !view.SoldOut() || limit == 0:
		return view, nil
	}
	return view, q.Each(ctx, scan, "accepted", sku, limit)
}

// aboveSKUs is above every SKU: no character of one is.
const aboveSKUs = "~"

// Audit reads the balances of all SKUs, or of one, in a transaction that reads one snapshot.
func Audit(ctx context.Context, q Querier, sku string) (audit stock.Audit, err error) {
	first, last := sku, sku
	if sku == "" {
		last = aboveSKUs
	}
	incomplete, unlisted := make(map[string]int64), int64(0) // lines of orders, by SKU
	if sku == "" {
		err = q.Each(ctx, Into(incomplete), "incomplete_lines")
	} else { // no index leads from a SKU to its lines
		err = Single(ctx, q, []any{&unlisted}, "unlisted_deductions", sku)
	}
	if err != nil {
		return audit, err
	}
	audit.SKUs, err = All(ctx, q, func(row Row) (b stock.Balance, err error) {
		var doubled, uneven, negative, excess, mismatched, unadded int64
		err = row.Scan(&b.SKU, &b.Initial, &b.Restocked, &b.Adjusted, &b.WrittenOff, &b.Available, &b.Reserved, &b.Committed, &b.Merges,
			&doubled, &uneven, &negative, &excess, &mismatched, &unadded)
		b.Fault(doubled, "order ids have more than one deduction")
		b.Fault(uneven, "merged deductions have parts that do not add up")
		b.Fault(negative, "segments hold less than nothing")
		b.Fault(excess, "buyers hold more than their limit, or than they are counted with")
		b.Fault(incomplete[b.SKU], "order lines have no deduction")
		b.Fault(unlisted, "deductions are lines of orders that do not list them")
		b.Fault(mismatched, "deductions do not hold what was asked less what was given back")
		b.Fault(unadded, "units of the ledger are missing in its stored sum, or are too many")
		return b, err
	}, "audit", first, last)
	if err == nil && sku != "" && audit.SKUs == nil {
		err = stock.UnknownSKU(sku)
	}
	return audit, err
}
