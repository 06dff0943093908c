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
// Segments are locked before deductions, but only the deductions show which segments are needed. So Settle reads them without
// locks first, locks what they need, and decides from what it reads then. A settlement that gives nothing back needs no
// segment. One that only commits has no first read: if a reservation has expired after all, it restarts.
//
// Settlements that wait at the same time are tried in one transaction first.
func (s *Store) Settle(ctx context.Context, settlement stock.Settlement) (results []stock.Settled, err error) {
	if results, err = s.settleTogether(ctx, settlement); results != nil || err != nil {
		return results, translate(err)
	}
	return s.settleAlone(ctx, []stock.Settlement{settlement}, settlement.Plan)
}

// settleAlone settles lines of different SKUs in a transaction of its own.
func (s *Store) settleAlone(ctx context.Context, lines []stock.Settlement, decide stock.Decider) (results []stock.Settled, err error) {
	again := false
	err = s.inTx(ctx, lines[0].Deadline, func(tx transaction) error {
		all, of := make([]*settling, len(lines)), make(map[string]*settling, len(lines))
		for i, line := range lines {
			all[i] = settlingOf(line)
			all[i].look, of[line.SKU] = all[i].look || again, all[i]
		}
		again = true // then it gives something back
		now, err := lockAll(ctx, tx, &tables.Statements{}, &tables.Statements{}, all...)
		if err != nil {
			return err
		}
		at, write, plans := cmp.Or(lines[0].At, now), &tables.Statements{}, []stock.SettlementPlan(nil)
		plans, results = decide(func(line stock.Settlement) stock.SettlementPlan { return of[line.SKU].plan(line, at) })
		for i, w := range all {
			if len(w.there) == 0 {
				if err := tables.SKUExists(ctx, tx, w.SKU); err != nil {
					return err
				}
			}
			if w.write(tx, write, plans[i], at); w.results == nil {
				return tables.ErrRaced
			}
		}
		return tx.Send(ctx, write)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// settling is a settlement in a transaction.
type settling struct {
	stock.Settlement
	ids     []string // in the order in which they are locked
	look    bool     // read first what it would give back
	access  Access   // of its statements; without SQL: the transaction's
	ground  ground
	there   map[string]stock.Deduction // under locks
	amended map[string]stock.Amendment // with the refs of the requests, under the locks of their deductions
	results []stock.Settled            // nil: it would give units back to rows that are not locked
}

func settlingOf(settlement stock.Settlement) *settling {
	ids := settlement.OrderIDs()
	slices.Sort(ids)
	return &settling{Settlement: settlement, ids: ids, look: slices.ContainsFunc(settlement.Requests, stock.SettleRequest.MayReturn)}
}

// SettleOrder implements [stock.Store].
//
// An order that was not looked up is settled in one statement, or not at all. Any other one has a transaction, as Settle.
func (s *Store) SettleOrder(ctx context.Context, o stock.OrderSettlement) ([]stock.Settled, error) {
	if o.SKUs == nil {
		return s.settleAtOnce(ctx, o)
	}
	return s.settleAlone(ctx, o.Lines(), o.Plan)
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
	err = writing{s.pool}.Each(ctx, func(row tables.Row) error {
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

// settle settles in a transaction, in three round trips: find, which is left out if it is empty, lock, and the write. find and
// lock may start with other statements.
func settle(ctx context.Context, tx transaction, find, lock *tables.Statements, all ...*settling) error {
	now, err := lockAll(ctx, tx, find, lock, all...)
	if err != nil {
		return err
	}
	write := &tables.Statements{}
	for _, w := range all {
		at := cmp.Or(w.At, now)
		w.write(tx, write, w.plan(w.Settlement, at), at)
	}
	return tx.Send(ctx, write)
}

// lockAll locks what settlements change, and reads it. It returns the store's time after that.
func lockAll(ctx context.Context, tx transaction, find, lock *tables.Statements, all ...*settling) (now time.Time, err error) {
	for _, w := range all {
		if w.ground = (ground{count: 1, all: w.WritesOff()}); w.look {
			find.SQL = w.access.SQL
			w.ground.queueFind(find, w.Settlement, w.ids)
		}
	}
	if err := tx.Send(ctx, find); err != nil {
		return now, err
	}
	for _, w := range all {
		w.ground.learn(w.Settlement)
		lock.SQL = w.access.SQL
		w.there = w.ground.queueLock(lock, w.SKU, w.ids)
		w.amended = lock.Amendments(w.Settlement)
	}
	tx.Instant(lock, time.Time{}, &now)
	err = tx.Send(ctx, lock)
	return now, err
}

func (w *settling) plan(settlement stock.Settlement, at time.Time) stock.SettlementPlan {
	return stock.PlanSettlement(settlement, w.there, w.amended, at, w.ground.count)
}

// write adds what was planned, if all units go back to rows that are locked.
func (w *settling) write(tx transaction, write *tables.Statements, plan stock.SettlementPlan, at time.Time) {
	if w.results = nil; w.ground.covers(plan.Returns) {
		w.results, write.SQL = plan.Results, w.access.SQL
		write.Settle(tx, w.SKU, plan, at)
	}
}

// ground is what a settlement has to lock besides its deductions.
type ground struct {
	count    int  // of all segments
	all      bool // of them are locked
	segments []int
	buyers   []string

	found  map[string]stock.Deduction // read without locks; nil: not read
	at     time.Time                  // of that read
	locked *[]stock.Segment           // those of segments that exist
}

// queueFind reads, without locks, what a settlement would give back.
func (g *ground) queueFind(look *tables.Statements, settlement stock.Settlement, ids []string) {
	look.Single([]any{&g.count, &g.at}, "count_segments", settlement.SKU, instant(settlement.At))
	g.found = look.Whole("find_whole", settlement.SKU, ids)
}

// learn sets the segments and the buyers from what was found.
func (g *ground) learn(settlement stock.Settlement) {
	if g.found != nil && g.count > 0 {
		g.segments, g.buyers = stock.PlanSettlement(settlement, g.found, nil, g.at, g.count).Ascending()
	}
}

// queueLock locks the ground and the deductions, and reads the deductions as they are then.
func (g *ground) queueLock(lock *tables.Statements, sku string, ids []string) map[string]stock.Deduction {
	g.locked = new([]stock.Segment)
	switch {
	case g.all:
		g.locked = lock.LockAll(sku)
	case len(g.segments) > 0:
		g.locked = lock.LockSome(sku, g.segments...)
	}
	if len(g.buyers) > 0 {
		lock.Exec("lock_buyers", sku, g.buyers)
	}
	return lock.Whole("lock_whole", sku, ids)
}

// covers reports whether all units go back to rows that are locked. Since the first read a deduction may have been added or
// changed, or a segment may have gone.
func (g *ground) covers(back stock.Returns) bool {
	segments, buyers := back.Ascending()
	wanted := len(g.segments)
	if g.all {
		wanted = g.count
	}
	return len(*g.locked) == wanted &&
		!slices.ContainsFunc(segments, func(n int) bool { return !slices.Contains(g.segments, n) }) &&
		!slices.ContainsFunc(buyers, func(id string) bool {
			_, found := slices.BinarySearch(g.buyers, id)
			return !found
		})
}

// newSettlementSharing returns a gatherer that lets settlements of different SKUs share a transaction.
func newSettlementSharing(s *Store) *gatherer[*settling, []stock.Settled] {
	room := oneOfEachSKU(func(w *settling) (string, int) { return w.SKU, len(w.ids) })
	return &gatherer[*settling, []stock.Settled]{room: room, carry: s.settleShared}
}

// settleTogether settles in a transaction that may be shared with others. It returns nil if the transaction has not settled it:
// then the settlement goes by itself.
func (s *Store) settleTogether(ctx context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	if s.sharing.which == sharedNone || len(settlement.Requests) > stock.LargestShared {
		return nil, nil
	}
	w := settlingOf(settlement)
	w.access = s.pool.access
	return s.settlements.together(ctx, settlement.Deadline, w)
}

// settleShared settles in one transaction. The results are nil for what it cannot decide: there may be no such SKU, or a
// deduction has changed since it was found.
func (s *Store) settleShared(ctx context.Context, deadline time.Time, all []*settling) ([][]stock.Settled, error) {
	inOrder := slices.SortedFunc(slices.Values(all), func(a, b *settling) int { return strings.Compare(a.SKU, b.SKU) })
	var find joint
	for _, w := range inOrder {
		find.lock(w.access)
	}
	lock := &tables.Statements{}
	lock.Exec("limit_waits", sharedWait)
	err := s.once(ctx, deadline, func(tx transaction) error { return settle(ctx, tx, &find.Statements, lock, inOrder...) })
	results := make([][]stock.Settled, len(all))
	for i, w := range all {
		if len(w.there) > 0 {
			results[i] = w.results
		}
	}
	return results, err
}
