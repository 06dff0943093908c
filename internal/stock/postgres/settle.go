package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const countSegments = `
SELECT count(*), coalesce($2::timestamptz, clock_timestamp()) FROM stock_segments WHERE sku_id = $1`

// As in selectByIDs, each order id is looked up by itself.
var selectWhole = `
SELECT` + tables.DeductionColumns + `, d.segment
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS d`

// The ids are ascending, so the locks are taken in ascending order.
var lockWhole = `
SELECT` + tables.DeductionColumns + `, d.segment
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id FOR UPDATE) AS d`

const selectParts = `
SELECT p.order_id, p.segment, p.quantity
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deduction_parts WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS p
ORDER BY p.order_id, p.segment`

// The rows are locked, so each still has the ctid under which it was found.
const updateDeductions = `
UPDATE deductions d SET status = new.status, quantity = new.quantity, asked = nullif(new.asked, new.quantity)
FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[]) AS new (order_id, status, quantity, asked)
WHERE d.ctid = (SELECT ctid FROM deductions WHERE sku_id = $1 AND order_id = new.order_id)`

// This row is locked last of all, and is not a segment's: a commit does not wait for those who sell.
const keepReserved = `UPDATE skus SET kept = kept + $2 WHERE sku_id = $1`

const deleteParts = `
DELETE FROM deduction_parts
WHERE ctid = ANY (ARRAY(
    SELECT p.ctid FROM unnest($2::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM deduction_parts WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS p))`

// Settle implements [stock.Store].
//
// Segments are locked before deductions, but only the deductions tell which segments are needed. So it reads them without
// locks first, locks what they need, and decides by what it reads then. A settlement that gives nothing back needs no
// segment. One that only commits does not look first: if a reservation has expired after all, it begins again.
//
// Settlements that wait at the same time are tried in one transaction first.
func (s *Store) Settle(ctx context.Context, settlement stock.Settlement) (results []stock.Settled, err error) {
	if results, err = s.settleTogether(ctx, settlement); results != nil || err != nil {
		return results, translate(err)
	}
	return s.settleAlone(ctx, settlement)
}

// settleAlone settles in a transaction of its own.
func (s *Store) settleAlone(ctx context.Context, settlement stock.Settlement) (results []stock.Settled, err error) {
	one := settlingOf(settlement)
	err = s.inTx(ctx, settlement.Deadline, func(tx transaction) error {
		err := s.settle(ctx, tx, &pgx.Batch{}, &pgx.Batch{}, one)
		one.look = true
		switch {
		case err != nil:
			return err
		case len(one.there) == 0:
			return tables.SKUExists(ctx, tx, settlement.SKU)
		case one.results == nil:
			return errRaced
		default:
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	return one.results, nil
}

// settling is a settlement in a transaction.
type settling struct {
	stock.Settlement
	ids     []string // in the order in which they are locked
	look    bool     // for what it would give back
	dialect *dialect // of its statements; nil: that of the transaction
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

// settle settles in a transaction, in three round trips, the first of which is left out if there is nothing to find. The second
// one locks. Both may begin with other statements.
func (s *Store) settle(ctx context.Context, tx transaction, find, lock *pgx.Batch, all ...*settling) error {
	for _, w := range all {
		if w.ground = (ground{count: 1}); w.look {
			w.queue(find, func() { w.ground.queueFind(find, w.Settlement, w.ids) })
		}
	}
	if err := sendAny(ctx, tx, find); err != nil {
		return err
	}
	for _, w := range all {
		w.ground.learn(w.Settlement)
		w.queue(lock, func() {
			w.there = w.ground.queueLock(lock, w.SKU, w.ids)
			w.amended = queueAmendments(lock, w.Settlement)
		})
	}
	write, now := &pgx.Batch{}, time.Time{}
	s.queueInstant(lock, time.Time{}, &now)
	if err := tx.send(ctx, lock); err != nil {
		return err
	}
	for _, w := range all {
		at := cmp.Or(w.At, now)
		plan := stock.PlanSettlement(w.Settlement, w.there, w.amended, at, w.ground.count)
		if w.results = nil; !w.ground.covers(plan.Returns) {
			continue
		}
		w.results = plan.Results
		w.queue(write, func() {
			queueSettlement(write, w.SKU, plan)
			queueAmended(write, w.SKU, plan, at)
		})
	}
	return sendAny(ctx, tx, write)
}

// queue has statements of a settlement queued, in its dialect.
func (w *settling) queue(trip *pgx.Batch, some func()) {
	before := trip.Len()
	some()
	if w.dialect != nil {
		for _, q := range trip.QueuedQueries[before:] {
			q.SQL = w.dialect.of(q.SQL)
		}
	}
}

// sendAny sends what is queued, if anything.
func sendAny(ctx context.Context, tx transaction, trip *pgx.Batch) error {
	if trip.Len() == 0 {
		return nil
	}
	return tx.send(ctx, trip)
}

// ground is what a settlement has to lock besides its deductions.
type ground struct {
	count    int // of all segments
	segments []int
	buyers   []string

	found  map[string]stock.Deduction // without locks; nil: it was not looked for
	at     time.Time                  // when
	locked *[]stock.Segment           // of segments those that are there
}

// queueFind reads, without locks, what a settlement would give back.
func (g *ground) queueFind(look *pgx.Batch, settlement stock.Settlement, ids []string) {
	look.Queue(countSegments, settlement.SKU, instant(settlement.At)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&g.count, &g.at) })
	g.found = queueWhole(look, selectWhole, settlement.SKU, ids)
}

// learn takes over what was found.
func (g *ground) learn(settlement stock.Settlement) {
	if g.found != nil && g.count > 0 {
		g.segments, g.buyers = stock.PlanSettlement(settlement, g.found, nil, g.at, g.count).Ascending()
	}
}

// queueLock locks the ground and the deductions, and reads the deductions as they are then.
func (g *ground) queueLock(lock *pgx.Batch, sku string, ids []string) map[string]stock.Deduction {
	if g.locked = new([]stock.Segment); len(g.segments) > 0 {
		g.locked = queueLockSome(lock, sku, g.segments...)
		lock.Queue(lockBuyers, sku, g.buyers)
	}
	return queueWhole(lock, lockWhole, sku, ids)
}

// covers tells whether all units go back to rows that are locked. Since find a deduction may have come or
// changed, or a segment may have gone.
func (g *ground) covers(back stock.Returns) bool {
	segments, buyers := back.Ascending()
	return len(*g.locked) == len(g.segments) &&
		!slices.ContainsFunc(segments, func(n int) bool { return !slices.Contains(g.segments, n) }) &&
		!slices.ContainsFunc(buyers, func(id string) bool {
			_, found := slices.BinarySearch(g.buyers, id)
			return !found
		})
}

// queueWhole reads deductions with their parts, by a statement that may lock them.
func queueWhole(trip *pgx.Batch, statement, sku string, ids []string) map[string]stock.Deduction {
	there := make(map[string]stock.Deduction, len(ids))
	trip.Queue(statement, sku, ids).Query(func(rows pgx.Rows) error {
		var r tables.Deduction
		var segment *int
		_, err := pgx.ForEachRow(rows, append(r.Columns(), &segment), func() error {
			d := r.Read()
			if d.Merged = segment == nil; !d.Merged {
				d.Parts = []stock.Part{{Segment: *segment, Quantity: d.Quantity}}
			}
			there[d.OrderID] = d
			return nil
		})
		return err
	})
	trip.Queue(selectParts, sku, ids).Query(each(func(row tables.Row) error {
		var id string
		var part stock.Part
		err := row.Scan(&id, &part.Segment, &part.Quantity)
		d := there[id]
		d.Parts = append(d.Parts, part)
		there[id] = d
		return err
	}))
	return there
}

// queueSettlement writes what was planned.
func queueSettlement(write *pgx.Batch, sku string, plan stock.SettlementPlan) {
	if changed := plan.Changed; len(changed) > 0 {
		write.Queue(updateDeductions, sku,
			stock.Column(changed, func(d stock.Deduction) string { return d.OrderID }),
			stock.Column(changed, func(d stock.Deduction) string { return string(d.Status) }),
			stock.Column(changed, func(d stock.Deduction) int32 { return int32(d.Quantity) }),       //nolint:gosec // at most stock.MaxQuantity
			stock.Column(changed, func(d stock.Deduction) int32 { return int32(d.Order.Quantity) })) //nolint:gosec // as above
	}
	if len(plan.Split) > 0 {
		var kept parts
		for _, d := range plan.Split {
			kept.add(d.OrderID, d.Parts)
		}
		write.Queue(deleteParts, sku, stock.Column(plan.Split, func(d stock.Deduction) string { return d.OrderID }))
		kept.queue(write, sku)
	}
	if plan.Units() > 0 {
		queueReturns(write, sku, plan.Returns)
		write.Queue(notify, sku)
	}
	if plan.Kept > 0 {
		write.Queue(keepReserved, sku, plan.Kept)
	}
}
