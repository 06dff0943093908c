package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

const insertParts = `
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT $1, o, s, q FROM unnest($2::text[], $3::integer[], $4::integer[]) AS part (o, s, q)`

// It reads the first entry of the index. For min(), a planner that expects one row would read all of them. Null: there is
// none.
const selectUntil = `
SELECT (SELECT expires_at FROM deductions WHERE sku_id = $1 AND status = 'reserved' ORDER BY expires_at LIMIT 1)`

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Merge) (stock.MergeResult, error) {
	return merge.Once(func(merge stock.Merge) (result stock.MergeResult, err error) {
		err = s.inTx(ctx, merge.Deadline, func(tx transaction) error {
			result, err = s.merge(ctx, tx, merge)
			return err
		})
		return result, err
	})
}

// merge is a merge as a part of a transaction.
//
// While it holds the rows of all segments, no other deduction of the SKU is under way and no units come back, since both
// begin by locking such a row. So the order ids and the buyers' units that it reads then are complete, and its inserts
// cannot conflict.
func (s *Store) merge(ctx context.Context, tx transaction, merge stock.Merge) (stock.MergeResult, error) {
	read := &pgx.Batch{}
	segments := queueLockAll(read, merge.SKU)
	back := queueExpire(read, merge.SKU, merge.At)
	facts := queueFacts(read, merge.SKU, merge.Limit, merge.Orders)
	read.Queue(selectUntil, merge.SKU).QueryRow(func(row pgx.Row) error { return row.Scan((*tables.Time)(&facts.NextExpiry)) })
	s.queueInstant(read, merge.At, &facts.At)
	if err := tx.send(ctx, read); err != nil {
		return stock.MergeResult{}, err
	}
	facts.Expired = back.reservations
	plan, result, err := merge.Plan(*segments, stock.LevelsOf(*segments, back.bySegment()), *facts)
	if err != nil {
		return result, err
	}
	write := &pgx.Batch{}
	if len(plan.Admitted) > 0 {
		if merge.Limit > 0 {
			queueCount(write, merge.SKU, merge.Limit, stock.Pick(merge.Orders, plan.Admitted))
		}
		queueMerged(write, merge, plan, facts.At)
		var taken changes
		for segment, units := range plan.Changes {
			taken.add(segment, units, plan.Reserved[segment], merge.Fences[segment])
		}
		taken.queue(write, merge.SKU)
	}
	if back.reservations > 0 && holdAny(plan.Segments) { // some of the units that came back are left for others
		write.Queue(notify, merge.SKU)
	}
	if write.Len() == 0 {
		return result, nil
	}
	return result, tx.send(ctx, write)
}

func holdAny(segments []int64) bool {
	return slices.ContainsFunc(segments, func(available int64) bool { return available > 0 })
}

// queueMerged inserts the deductions of a merge, and the parts of those that have several.
func queueMerged(write *pgx.Batch, merge stock.Merge, plan stock.MergePlan, at time.Time) {
	c := arraysOf(stock.Pick(merge.Orders, plan.Admitted))
	var several parts
	for _, i := range plan.Admitted {
		if given := plan.Parts[i]; len(given) == 1 {
			c.segments = append(c.segments, &given[0].Segment)
			continue
		}
		c.segments = append(c.segments, nil)
		several.add(merge.Orders[i].OrderID, plan.Parts[i])
	}
	c.queue(write, insertMerged, merge.SKU, at)
	several.queue(write, merge.SKU)
}

// parts are the columns of rows of deduction_parts.
type parts struct {
	orderIDs             []string
	segments, quantities []int32
}

func (p *parts) add(orderID string, given []stock.Part) {
	for _, part := range given {
		p.orderIDs = append(p.orderIDs, orderID)
		p.segments = append(p.segments, int32(part.Segment))      //nolint:gosec // at most stock.MaxSegments
		p.quantities = append(p.quantities, int32(part.Quantity)) //nolint:gosec // at most stock.MaxQuantity
	}
}

func (p *parts) queue(write *pgx.Batch, sku string) {
	if len(p.orderIDs) > 0 {
		write.Queue(insertParts, sku, p.orderIDs, p.segments, p.quantities)
	}
}
