package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Settle implements [stock.Store].
//
// A settlement that may give units back locks the rows of all segments first: segments come before deductions, and only the deductions show
// which segments gave. Nobody counts buyers meanwhile either. A commit needs no segment: if its reservation has expired after all,
// it restarts.
//
// Settlements that wait at the same time are tried in one transaction first.
func (s *Store) Settle(ctx context.Context, settlement stock.Settlement) (results []stock.Settled, err error) {
	if len(settlement.Requests) <= stock.LargestShared {
		results, err = s.settlements.together(ctx, settlement.Deadline, settling{tables.SettlingOf(settlement, s.pool.access.SQL), s.pool.access})
	}
	if results != nil || err != nil {
		return results, translate(err)
	}
	return s.settleAlone(ctx, []stock.Settlement{settlement})
}

// settleAlone settles lines of different SKUs in a transaction of its own. Units do not wait for rows that another transaction holds for
// long: others take them.
func (s *Store) settleAlone(ctx context.Context, lines []stock.Settlement) (results []stock.Settled, err error) {
	again := false
	err = tables.UntilFree(func(how tables.Locking) error {
		return s.inTx(ctx, lines[0].Deadline, func(tx transaction) error {
			results, err = tables.Settle(ctx, tx, lines, again, how)
			again = true // then it gives something back
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// settling is a settlement in a shared transaction.
type settling struct {
	*tables.Settling
	access Access // of its statements
}

// SettleOrder implements [stock.Store].
//
// An order that was not looked up is settled in one statement, or not at all. Any other one has a transaction, as Settle.
func (s *Store) SettleOrder(ctx context.Context, o stock.OrderSettlement) ([]stock.Settled, error) {
	if o.SKUs == nil {
		return s.settleAtOnce(ctx, o)
	}
	return s.settleAlone(ctx, o.Lines())
}

// lineWait is how long settleAtOnce waits for each row. It is less than [statementLimit], after which nobody would know what is written.
const lineWait = "500ms"

// settleAtOnce settles the usual order (settle_order.sql). It returns nil if it is not one, and has written nothing then.
func (s *Store) settleAtOnce(ctx context.Context, o stock.OrderSettlement) (results []stock.Settled, err error) {
	until, _ := ctx.Deadline()
	request, sent, at := o.Request, time.Now(), time.Time{}
	statement, args := "", []any{o.Keys, request.BuyerID, instant(o.At), s.deadline(stock.Earlier(o.Deadline, until)), lineWait}
	switch {
	case request.Verb == stock.Extend:
		statement = "extend_order"
		args = append(args, request.Ref, request.ExtendFor.Microseconds(), request.MostExtend.Microseconds(), request.Reason)
	case request.Verb == stock.Commit && request.Quantity == 0:
		statement = "commit_order"
	case request.Verb == stock.Cancel && !request.Amends():
		statement = "cancel_order"
	default:
		return nil, nil
	}
	var line tables.Deduction
	columns := append(line.Columns(), (*tables.Time)(&at))
	err = s.pool.writing().Each(ctx, func(row tables.Row) error {
		err := row.Scan(columns...)
		settled := stock.Settled{Deduction: line.Read()}
		if request.Verb == stock.Cancel {
			settled.Returned = settled.Deduction.Quantity
		}
		results = append(results, settled)
		return err
	}, statement, args...)
	switch {
	case nothingWritten(err): // it may be too late, or the server's clock was set since it was read
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("settle the order at once: %w", err)
	case results != nil && o.At.IsZero():
		s.clock.note(sent, at)
	}
	return results, nil
}

// newSettlementSharing returns a gatherer that lets settlements of different SKUs share a transaction.
func newSettlementSharing(s *Store) *gatherer[settling, []stock.Settled] {
	room := oneOfEachSKU(func(w settling) (string, int) { return w.SKU, len(w.Requests) })
	return newGatherer(room, s.settleShared)
}

// settleShared settles in one transaction. The results are nil for what it cannot decide: there may be no such SKU, or a
// reservation has expired.
func (s *Store) settleShared(ctx context.Context, deadline time.Time, all []settling) ([][]stock.Settled, error) {
	inOrder := slices.SortedFunc(slices.Values(all), func(a, b settling) int { return strings.Compare(a.SKU, b.SKU) })
	lock := locksToShare(stock.Column(inOrder, func(w settling) Access { return w.access })...)
	err := s.once(ctx, deadline, func(tx transaction) error {
		now, err := tables.LockSettled(ctx, tx, lock, stock.Column(inOrder, func(w settling) *tables.Settling { return w.Settling }))
		if err != nil {
			return err
		}
		write, plans := &tables.Statements{}, make([]stock.SettlementPlan, len(inOrder))
		for i, w := range inOrder {
			if plan := w.Plan(w.Settlement, cmp.Or(w.At, now)); !w.Leaves(plan) {
				plans[i] = plan
			}
		}
		write.UncountInGroups(plans...)
		for i, w := range inOrder {
			w.Write(tx, write, plans[i], cmp.Or(w.At, now))
		}
		return tx.Send(ctx, write)
	})
	return stock.Column(all, func(w settling) []stock.Settled {
		if len(w.There) > 0 {
			return w.Results
		}
		return nil
	}), err
}
