package tables

import (
	"context"
	"time"

	"inventory/internal/stock"
)

const (
	// countLock means nothing, but must be the same in all processes.
	countLock = 1180340021
	// countWait is how long a page waits for each row. Others may wait for rows that it has.
	countWait = 30 * time.Millisecond
	// countRead is how many times as many deductions as it counts a page goes through at most. Orders that come meanwhile count themselves, and
	// are passed faster than they come.
	countRead = 20
)

// counting is how far the earlier orders of a SKU are counted, or are no longer.
type counting struct {
	until string      // the key of the last one
	terms stock.Terms // the limit and its group
	ours  bool        // nobody else counts them now
}

// BeingCounted implements [stock.Store].
func (b Base) BeingCounted(ctx context.Context, limit int) ([]string, error) {
	return All(ctx, b.DB, Value[string], "being_counted", limit)
}

// CountEarlier implements [stock.Store].
//
// It locks no segment. The rows of deductions are locked first: what is given back at the same time is seen, or sees the mark. Then the
// rows of buyers are, as where orders are counted, and the SKU's last of all.
func (b Base) CountEarlier(ctx context.Context, sku string, page int) (left bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		var now counting
		if left, err = One(ctx, tx, []any{&now.until, &now.terms.PerBuyerLimit, &now.terms.LimitGroup, &now.ours}, "counting", sku, countLock); err != nil || !left {
			return err
		}
		if !now.ours {
			return stock.ErrHeld
		}
		last := stock.BeyondKeys()
		if left, err = One(ctx, tx, []any{&last}, "page_end", sku, now.until, countRead*page-1); err == nil {
			left, err = now.count(ctx, tx, sku, last, page, left)
		}
		return err
	})
	return left && err == nil, err
}

// count counts deductions up to a key where they shall be counted, and no longer elsewhere: a page of them, if there are so many. It reports
// whether more are left; there are some behind the key if more is set.
func (c counting) count(ctx context.Context, tx Tx, sku, last string, page int, more bool) (left bool, err error) {
	limit, group, at := c.terms.PerBuyerLimit, c.terms.LimitGroup, c.terms.CountedAt(sku)
	lock, write := &Statements{}, &Statements{}
	tx.RowWait(lock, countWait)
	var ids []string
	counted, gone := make(map[string]int64), make(map[stock.Counted]int64) // units
	lock.Each(func(row Row) error {
		var id string
		var was stock.Counted
		var quantity int64
		err := row.Scan(&id, &was.BuyerID, &quantity, &was.At)
		ids = append(ids, id)
		counted[was.BuyerID] += quantity
		if was.At != "" {
			gone[was] += quantity
		}
		return err
	}, "lock_miscounted", sku, c.until, last, at, page)
	if err := tx.Send(ctx, lock); err != nil {
		return false, err
	}
	if len(ids) == page {
		last, more = ids[page-1], true
	}
	write.Briefly = true
	if len(gone) > 0 {
		write.Uncount(gone)
		counts, buyers, _ := columnsOfCounted(gone)
		write.Exec("forget_buyers", counts, buyers)
	}
	if len(ids) > 0 && at != "" {
		buyers, units := columnsOf(counted)
		write.Exec("count_earlier", at, buyers, units, limit)
	}
	if len(ids) > 0 {
		write.Exec("mark_counted", sku, ids, at)
	}
	if more {
		write.Exec("counted_until", sku, c.until, last, limit > 0, group).Wrote = AllOf(1)
	} else {
		write.Exec("all_counted", sku, c.until, limit > 0, group).Wrote = AllOf(1)
	}
	return more, tx.Send(ctx, write)
}
