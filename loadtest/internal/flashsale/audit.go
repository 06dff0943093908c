package flashsale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/openloop"
)

// account is what came of a round: the answers beside the rows.
type account struct {
	counts     openloop.Counts
	known      bool                       // there are rows of the SKU
	units      int64                      // sold, in the rows
	rows       int                        // orders in the rows
	told       int                        // orders that buyers were told of
	open       int                        // orders with rows that no buyer was told of, because no answer came
	soldOut    time.Duration              // from the opening to the answer that sold the last unit; never: units were left
	firstNo    time.Duration              // from the start to the first refusal for want of stock; never: none
	falsely    falsely                    //
	stranded   int64                      //
	retried    [standings]openloop.Counts //
	early      int64                      // accepted before the sale opened, by the clock of this program
	late       int64                      // turned away as too early although sent after the sale opened, by the same clock
	complaints books.Complaints
}

// oversold are the units sold beyond the stock.
func (a account) oversold(stock int64) int64 { return max(0, a.units-stock) }

// audit recomputes all balances, reads the rows of every order that was sent, and settles each round's account. What
// needs no rows is settled also where they cannot be read.
func (s *sale) audit(ctx context.Context) error {
	if len(s.rounds) == 0 {
		return nil
	}
	fates := make([][]fate, len(s.rounds))
	for n, r := range s.rounds {
		r.account = account{counts: r.result.All(), soldOut: never}
		fates[n], r.account.retried = r.fates()
		r.clocks()
	}
	if err := s.readRows(ctx, fates); err != nil {
		return err
	}
	for n, r := range s.rounds {
		r.settle(fates[n], s.Stock)
	}
	return nil
}

// readRows reads the balances, and the row of each order.
func (s *sale) readRows(ctx context.Context, fates [][]fate) (err error) {
	audit, err := s.to.Audit(ctx)
	if err != nil {
		return err
	}
	store, err := s.to.Read(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for n, r := range s.rounds {
		if err := r.readRows(ctx, store, fates[n]); err != nil {
			return fmt.Errorf("audit: read the orders of SKU %s: %w", r.sku, err)
		}
		at := slices.IndexFunc(audit.SKUs, func(b stock.Balance) bool { return b.SKU == r.sku })
		if r.account.known = at >= 0; r.account.known {
			r.balance = audit.SKUs[at]
		}
	}
	return nil
}

// lookUp is how many orders are looked up at once.
const lookUp = 1000

// readRows looks up every order of which the service may have heard.
func (r *round) readRows(ctx context.Context, store stock.Store, fates []fate) error {
	var sent []int
	for i := range fates {
		if fates[i].sent {
			sent = append(sent, i)
		}
	}
	for some := range slices.Chunk(sent, lookUp) {
		ids := make([]string, len(some))
		for n, i := range some {
			ids[n] = r.orders.ID(i)
		}
		found, err := store.Deductions(ctx, r.sku, ids)
		if err != nil {
			return err
		}
		for n, i := range some {
			row, there := found[ids[n]]
			f := &fates[i]
			f.hasRow, f.units = there, row.Quantity
			f.asked = row.Quantity == r.orders.Quantity(i) && row.BuyerID == r.orders.Buyer(i) && row.Status == stock.StatusCommitted
		}
	}
	return nil
}

// settle holds answers and rows against one another.
func (r *round) settle(fates []fate, initial int64) {
	a := &r.account
	var last time.Duration
	for i := range fates {
		f := &fates[i]
		if !f.sent {
			continue
		}
		r.judge(i, f)
		if f.told() {
			a.told++
		}
		if f.hasRow {
			a.rows++
			a.units += f.units
			if f.told() {
				last = max(last, f.heard)
			} else {
				a.open++
			}
		}
	}
	r.judgeBalance(initial)
	if a.known && r.balance.Available == 0 && last > 0 {
		a.soldOut = last - r.opening
	}
	a.falsely = r.falseRefusals(fates, r.balance.Available)
	a.stranded = r.stranded(r.balance.Available)
}

// judge holds the answers to one order against its row.
func (r *round) judge(i int, f *fate) {
	c, id := &r.account.complaints, r.orders.ID(i)
	if f.told() && !f.hasRow {
		c.Add("orders that buyers were told of have no row", id)
	}
	if f.hasRow && !f.told() && f.open == 0 {
		c.Add("orders that were refused have a row", id)
	}
	if f.hasRow && !f.asked {
		c.Add("rows are not what was asked for", id)
	}
	if f.accepted > 1 {
		c.Add("orders were accepted more than once", id)
	}
	if f.replayed > 0 && f.accepted == 0 && f.open == 0 {
		c.Add("orders were told to have been accepted before, and had not been", id)
	}
	if f.denied {
		c.Add("winners were refused when they asked again", id)
	}
}

// judgeBalance holds the rows of the SKU against its stock.
func (r *round) judgeBalance(initial int64) {
	c, b := &r.account.complaints, r.balance
	if !r.account.known {
		c.Say("the database does not know it: is it the one that the service uses?")
		return
	}
	for _, check := range []struct {
		what      string
		is, shall int64
	}{
		{"units are missing", b.Difference(), 0},
		{"units of the initial stock", b.Initial, initial},
		{"units were restocked or adjusted", b.Restocked + b.Adjusted, 0},
		{"units are reserved", b.Reserved, 0},
		{"units are committed", b.Committed, r.account.units},
		{"units were sold beyond the stock", max(0, b.Committed-initial, -b.Available), 0},
	} {
		if check.is != check.shall {
			c.Say(fmt.Sprintf("%d %s instead of %d", check.is, check.what, check.shall))
		}
	}
	for _, violation := range b.Violations {
		c.Say(violation)
	}
}

// clocks finds answers that the clocks of the service and of this program do not agree about, and the first refusal.
func (r *round) clocks() {
	a := &r.account
	a.firstNo = never
	for _, reply := range r.result.Replies {
		switch reply.Outcome {
		case openloop.Accepted:
			if reply.Over < r.opening {
				a.early++
			}
		case openloop.SaleClosed:
			if reply.Sent > r.opening {
				a.late++
			}
		case openloop.SoldOut, openloop.InsufficientStock:
			a.firstNo = min(a.firstNo, reply.Over)
		}
	}
}
