package tables

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"inventory/internal/stock"
)

const (
	forgetScan  = 2000 // rows that a step goes through, at most
	forgetRows  = 100  // deductions that it changes, at most
	forgetHeads = 10   // orders of several SKUs that it changes, at most
	forgetAgain = 100  // names that are tried for a buyer's own orders
)

// Forgotten implements [stock.Store].
func (b Base) Forgotten(ctx context.Context) ([]stock.ForgottenBuyer, error) {
	return All(ctx, b.DB, func(row Row) (f stock.ForgottenBuyer, err error) {
		err = row.Scan(&f.Name, &f.Done)
		return f, err
	}, "forgotten")
}

// NoteForgetKey implements [stock.Store].
func (b Base) NoteForgetKey(ctx context.Context, name string) (noted bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		s := &Statements{}
		s.Exec("lock_forgotten")
		s.Exec("note_forget_key", name)
		s.Single([]any{&noted}, "forget_key_is", name)
		return tx.Send(ctx, s)
	})
	return noted && err == nil, err
}

// NoteForgotten implements [stock.Store].
func (b Base) NoteForgotten(ctx context.Context, buyer stock.ForgottenBuyer) error {
	return b.InTx(ctx, time.Time{}, func(tx Tx) error {
		write := &Statements{}
		write.Exec("note_forgotten", buyer.Name, buyer.Done)
		return tx.Send(ctx, write)
	})
}

// Forget implements [stock.Store]. If a key is taken under the buyer's new name, it takes the step under the next one.
func (b Base) Forget(ctx context.Context, f stock.Forgetting, step stock.ForgetStep) (next stock.ForgetStep, err error) {
	for ; ; f.Again++ {
		next, err = b.forget(ctx, f, step)
		if !errors.Is(err, stock.ErrGuard) || f.Again == forgetAgain {
			return next, err
		}
	}
}

func (b Base) forget(ctx context.Context, f stock.Forgetting, step stock.ForgetStep) (next stock.ForgetStep, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		w := forgetting{Forgetting: f, ctx: ctx, tx: tx}
		switch step.Part {
		case stock.ForgetOrders:
			next, err = w.orders(step)
		case stock.ForgetDeductions:
			next, err = w.deductions(step)
		case stock.ForgetCounts:
			first, last := stock.Groups()
			next, err = stock.ForgetStep{Part: stock.ForgetOutbox}, w.exec("forget_counts", first, last, f.BuyerID)
		default:
			next, err = w.outbox(step)
		}
		return err
	})
	return next, err
}

// forgetting is one step, in its transaction.
type forgetting struct {
	stock.Forgetting
	ctx context.Context //nolint:containedctx // it lives as long as a call
	tx  Tx
}

func (w forgetting) exec(name string, args ...any) error {
	write := &Statements{}
	write.Exec(name, args...)
	return w.tx.Send(w.ctx, write)
}

// end returns the last key of the rows that a step may go through, by a statement, and whether more follow.
func (w forgetting) end(statement string, args ...any) (last string, more bool, err error) {
	last = stock.BeyondKeys()
	more, err = One(w.ctx, w.tx, []any{&last}, statement, append(args, forgetScan-1)...)
	return last, more, err
}

// orders forgets the buyer in a page of the orders of several SKUs, and in all their lines.
func (w forgetting) orders(step stock.ForgetStep) (next stock.ForgetStep, err error) {
	last, more, err := w.end("orders_end", step.After)
	if err != nil {
		return step, err
	}
	first, behind := w.Own()
	ids, err := All(w.ctx, w.tx, Value[string], "orders_to_forget", step.After, last, w.BuyerID, first, behind, forgetHeads, stock.PrunedBuyer(w.BuyerID))
	if err != nil {
		return step, err
	}
	if len(ids) == forgetHeads {
		last, more = ids[len(ids)-1], true
	}
	if len(ids) > 0 {
		err = w.wholeOrders(ids)
	}
	if !more {
		return stock.ForgetStep{Part: stock.ForgetDeductions}, err
	}
	step.After = last
	return step, err
}

// wholeOrders forgets the buyer in orders of several SKUs. Their rows are the first that are locked.
func (w forgetting) wholeOrders(ids []string) error {
	lock := &Statements{}
	w.tx.RowWait(lock, countWait)
	bySKU := make(map[string][]string)
	for _, id := range ids {
		lock.Each(func(row Row) error { return row.Scan(new(string)) }, "lock_order", id)
		lock.Each(func(row Row) error {
			var sku string
			err := row.Scan(&sku)
			bySKU[sku] = append(bySKU[sku], id)
			return err
		}, "lines_to_forget", id)
	}
	if err := w.tx.Send(w.ctx, lock); err != nil {
		return err
	}
	write, err := w.rename(bySKU)
	if err != nil {
		return err
	}
	for _, id := range ids {
		write.Exec("forget_in_order", id, w.Renamed(id), w.BuyerID, w.Name, stock.PrunedBuyer(w.BuyerID))
		write.Exec("forget_in_changes", id, w.Renamed(id), w.BuyerID, w.Name)
		if w.IsOwn(id) {
			write.Exec("rename_lines", id, w.Renamed(id))
		}
	}
	return w.tx.Send(w.ctx, write)
}

// deductions forgets the buyer in a page of the deductions of a SKU. The buyer's own orders, which stand together, come first.
func (w forgetting) deductions(step stock.ForgetStep) (next stock.ForgetStep, err error) {
	if step.SKU == "" {
		return w.nextSKU(step)
	}
	first, behind := w.Own()
	if step.After == "" {
		own, err := All(w.ctx, w.tx, Value[string], "own_to_forget", step.SKU, first, behind, forgetRows)
		if err != nil || len(own) > 0 {
			return step, w.some(step.SKU, own, err)
		}
	}
	last, more, err := w.end("page_end", step.SKU, step.After)
	if err != nil {
		return step, err
	}
	ids, err := All(w.ctx, w.tx, Value[string], "to_forget", step.SKU, step.After, last, w.BuyerID, forgetRows)
	if len(ids) == forgetRows {
		last, more = ids[len(ids)-1], true
	}
	if err := w.some(step.SKU, ids, err); err != nil {
		return step, err
	}
	if step.After = last; more {
		return step, nil
	}
	rest := &Statements{}
	rest.Exec("forget_in_ledger", step.SKU, first, behind, w.BuyerID, w.KeyName())
	rest.Exec("forget_page", step.SKU, first, behind)
	rest.Exec("forget_counts", step.SKU, step.SKU, w.BuyerID)
	if err := w.tx.Send(w.ctx, rest); err != nil {
		return step, err
	}
	return w.nextSKU(step)
}

// nextSKU goes on with the SKU after the present one.
func (w forgetting) nextSKU(step stock.ForgetStep) (stock.ForgetStep, error) {
	from := ""
	if step.SKU != "" {
		from = stock.AfterSKU(step.SKU)
	}
	var sku string
	there, err := One(w.ctx, w.tx, []any{&sku, new(string)}, "names", from, 1)
	if !there {
		return stock.ForgetStep{Part: stock.ForgetCounts}, err
	}
	return stock.ForgetStep{Part: stock.ForgetDeductions, SKU: sku}, err
}

// some forgets the buyer in deductions of a SKU, unless they could not be read.
func (w forgetting) some(sku string, ids []string, err error) error {
	if err != nil || len(ids) == 0 {
		return err
	}
	write, err := w.rename(map[string][]string{sku: ids})
	if err != nil {
		return err
	}
	return w.tx.Send(w.ctx, write)
}

// rename locks deductions, and returns what forgets the buyer in them and in what belongs to them. A count moves with its deductions. If a
// key changes, a segment's version is raised: other processes may know the SKU's accepted order ids.
func (w forgetting) rename(bySKU map[string][]string) (write *Statements, err error) {
	lock, write := &Statements{}, &Statements{}
	w.tx.RowWait(lock, countWait)
	var all []map[string]stock.Deduction
	skus := slices.Sorted(maps.Keys(bySKU))
	for _, sku := range skus {
		if slices.ContainsFunc(bySKU[sku], w.IsOwn) {
			lock.Exec("touch_segments", sku)
			write.Exec("count_anew", sku)
		}
		all = append(all, lock.Whole("lock_whole", sku, slices.Sorted(slices.Values(bySKU[sku]))))
	}
	if err := w.tx.Send(w.ctx, lock); err != nil {
		return nil, err
	}
	write.Briefly = lock.Briefly
	gone := make(map[stock.Counted]int64) // units
	for i, there := range all {
		for _, id := range slices.Sorted(maps.Keys(there)) {
			if d := there[id]; d.BuyerID == w.BuyerID && d.CountedAt != "" && d.Status.Live() {
				gone[stock.Counted{At: d.CountedAt, BuyerID: d.BuyerID}] += d.Quantity
			}
			w.tx.Rename(write, skus[i], id, w.Forgetting)
			if w.IsOwn(id) { // what the ledger says of it keeps to it
				first, behind := stock.WriteOffs(id)
				write.Exec("forget_in_ledger", skus[i], first, behind, w.BuyerID, w.KeyName())
			}
		}
	}
	if len(gone) > 0 {
		write.Uncount(gone)
		counts, buyers, units := columnsOfCounted(gone)
		write.Exec("forget_buyers", counts, buyers)
		for i, at := range counts {
			write.Exec("count_earlier", at, []string{w.Name}, units[i:i+1], 0)
		}
	}
	return write, nil
}

// outbox forgets the buyer in a page of the outbox.
func (w forgetting) outbox(step stock.ForgetStep) (next stock.ForgetStep, err error) {
	last, more, err := w.end("outbox_end", step.After)
	if err != nil {
		return step, err
	}
	first, behind := w.Own()
	if err := w.exec("forget_in_outbox", step.After, forgetScan, w.BuyerID, w.Name, first, behind); err != nil {
		return step, err
	}
	if !more {
		return stock.ForgetStep{Part: stock.ForgetDone}, nil
	}
	step.After = last
	return step, nil
}
