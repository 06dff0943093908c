package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

const lockSome = `
SELECT layout FROM stock_segments WHERE sku_id = $1 AND segment = ANY ($2::integer[]) ORDER BY segment FOR UPDATE`

const selectLayout = `
SELECT count(*), coalesce(max(layout), 0), coalesce($2::timestamptz, clock_timestamp()) FROM stock_segments WHERE sku_id = $1`

// As in selectByIDs, each order id is looked up by itself.
var selectWhole = `
SELECT` + deductionColumns + `, d.segment
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS d`

// The ids are ascending, so the locks are taken in ascending order.
var lockWhole = `
SELECT` + deductionColumns + `, d.segment
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
	look := slices.ContainsFunc(settlement.Requests, stock.SettleRequest.MayReturn)
	err = s.inTx(ctx, settlement.Deadline, func(tx pgx.Tx) error {
		results, err = s.settle(ctx, tx, settlement, look)
		look = true
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func (s *Store) settle(ctx context.Context, tx pgx.Tx, settlement stock.Settlement, look bool) ([]stock.Settled, error) {
	ids := idsOf(settlement)
	g := ground{count: 1}
	if look {
		find := &pgx.Batch{}
		g.queueFind(find, settlement, ids)
		if err := tx.SendBatch(ctx, find).Close(); err != nil {
			return nil, err
		}
		g.learn(settlement)
	}
	lock := &pgx.Batch{}
	there := g.queueLock(lock, settlement.SKU, ids)
	var at time.Time
	s.queueInstant(lock, settlement.At, &at)
	if err := tx.SendBatch(ctx, lock).Close(); err != nil {
		return nil, err
	}
	if len(there) == 0 {
		if err := skuExists(ctx, tx, settlement.SKU); err != nil {
			return nil, err
		}
	}
	plan := stock.PlanSettlement(settlement, there, at, g.count)
	if !g.covers(plan.Returns) {
		return nil, errRaced
	}
	if len(plan.Changed) == 0 {
		return plan.Results, nil
	}
	write := &pgx.Batch{}
	queueSettlement(write, settlement.SKU, plan)
	return plan.Results, tx.SendBatch(ctx, write).Close()
}

// idsOf returns the order ids of a settlement in the order in which they are locked.
func idsOf(settlement stock.Settlement) []string {
	ids := make([]string, len(settlement.Requests))
	for i, request := range settlement.Requests {
		ids[i] = request.OrderID
	}
	slices.Sort(ids)
	return ids
}

// ground is what a settlement has to lock besides its deductions.
type ground struct {
	count    int   // of all segments
	layout   int64 // to which the segments belong
	segments []int
	buyers   []string

	found map[string]stock.Deduction // without locks; nil: it was not looked for
	at    time.Time                  // when
}

// queueFind reads, without locks, what a settlement would give back.
func (g *ground) queueFind(look *pgx.Batch, settlement stock.Settlement, ids []string) {
	look.Queue(selectLayout, settlement.SKU, instant(settlement.At)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&g.count, &g.layout, &g.at) })
	g.found = queueWhole(look, selectWhole, settlement.SKU, ids)
}

// learn takes over what was found.
func (g *ground) learn(settlement stock.Settlement) {
	if g.found != nil && g.count > 0 {
		g.segments, g.buyers = stock.PlanSettlement(settlement, g.found, g.at, g.count).Ascending()
	}
}

// queueLock locks the ground and the deductions, and reads the deductions as they are then. If the layout has changed, it is
// a race.
func (g *ground) queueLock(lock *pgx.Batch, sku string, ids []string) map[string]stock.Deduction {
	if len(g.segments) > 0 {
		lock.Queue(lockSome, sku, g.segments).Query(func(rows pgx.Rows) error {
			layouts, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			if err == nil && (len(layouts) != len(g.segments) || slices.Min(layouts) != g.layout || slices.Max(layouts) != g.layout) {
				err = errRaced
			}
			return err
		})
		lock.Queue(lockBuyers, sku, g.buyers)
	}
	return queueWhole(lock, lockWhole, sku, ids)
}

// covers tells whether all units go back to rows that are locked. A deduction may have come or changed since find.
func (g *ground) covers(back stock.Returns) bool {
	segments, buyers := back.Ascending()
	return !slices.ContainsFunc(segments, func(n int) bool { return !slices.Contains(g.segments, n) }) &&
		!slices.ContainsFunc(buyers, func(id string) bool {
			_, found := slices.BinarySearch(g.buyers, id)
			return !found
		})
}

// queueWhole reads deductions with their parts, by a statement that may lock them.
func queueWhole(trip *pgx.Batch, statement, sku string, ids []string) map[string]stock.Deduction {
	there := make(map[string]stock.Deduction, len(ids))
	trip.Queue(statement, sku, ids).Query(func(rows pgx.Rows) error {
		var r deductionRow
		var segment *int
		_, err := pgx.ForEachRow(rows, append(r.columns(), &segment), func() error {
			d := r.read()
			if segment != nil {
				d.Parts = []stock.Part{{Segment: *segment, Quantity: d.Quantity}}
			}
			there[d.OrderID] = d
			return nil
		})
		return err
	})
	trip.Queue(selectParts, sku, ids).Query(func(rows pgx.Rows) error {
		var id string
		var part stock.Part
		_, err := pgx.ForEachRow(rows, []any{&id, &part.Segment, &part.Quantity}, func() error {
			d := there[id]
			d.Parts = append(d.Parts, part)
			there[id] = d
			return nil
		})
		return err
	})
	return there
}

// queueSettlement writes what was planned.
func queueSettlement(write *pgx.Batch, sku string, plan stock.SettlementPlan) {
	var ids, statuses []string
	var quantities, asked []int32
	var kept parts
	var split []string
	for _, d := range plan.Changed {
		ids, statuses = append(ids, d.OrderID), append(statuses, string(d.Status))
		quantities, asked = append(quantities, int32(d.Quantity)), append(asked, int32(d.Order.Quantity)) //nolint:gosec // at most stock.MaxQuantity
	}
	for _, d := range plan.Split {
		split = append(split, d.OrderID)
		kept.add(d.OrderID, d.Parts)
	}
	write.Queue(updateDeductions, sku, ids, statuses, quantities, asked)
	if len(split) > 0 {
		write.Queue(deleteParts, sku, split)
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
