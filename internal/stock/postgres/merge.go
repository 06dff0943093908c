package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

const insertMerged = `
INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, expires_at, created_at)
SELECT $1, o, nullif(b, ''), q, nullif(s, -1), CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       $7::timestamptz + nullif(r, 0) * interval '1 microsecond', $7
FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[], $6::bigint[]) AS asked (o, b, q, s, r)
ORDER BY o COLLATE "C"`

const insertParts = `
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT $1, o, s, q FROM unnest($2::text[], $3::integer[], $4::integer[]) AS part (o, s, q)`

// The first entry of the index: for min(), a planner that expects one row reads all of them. Null where there is none.
const selectUntil = `
SELECT (SELECT expires_at FROM deductions WHERE sku_id = $1 AND status = 'reserved' ORDER BY expires_at LIMIT 1)`

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Merge) (result stock.MergeResult, err error) {
	first, repeats := stock.Unique(merge.Orders)
	err = s.inTx(ctx, merge.Deadline, func(tx pgx.Tx) error {
		result, err = s.mergeAll(ctx, tx, merge, first)
		return err
	})
	if err != nil {
		return stock.MergeResult{}, err
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

// mergeAll is a merge as a part of a transaction.
//
// While it holds the rows of all segments no other deduction of the SKU is under way, and nothing comes back, since both
// begin with a row of them. So the order ids and the buyers' units that it reads after that are all there are, and its
// inserts cannot conflict.
func (s *Store) mergeAll(ctx context.Context, tx pgx.Tx, merge stock.Merge, first []int) (stock.MergeResult, error) {
	result := stock.MergeResult{Outcomes: make([]stock.Outcome, len(merge.Orders))}
	look := &pgx.Batch{}
	all := queueLockAll(look, merge.SKU)
	back := queueExpire(look, merge.SKU, merge.At)
	demand := queueDemand(look, merge.SKU, merge.Limit, merge.Orders, first)
	var until *time.Time
	look.Queue(selectUntil, merge.SKU).QueryRow(func(row pgx.Row) error { return row.Scan(&until) })
	at := s.queueInstant(look, merge.At)
	if err := tx.SendBatch(ctx, look).Close(); err != nil {
		return result, err
	}
	if err := passAll(*all, merge); err != nil {
		return result, err
	}
	demand.Closed = merge.SaleWindow.Refusal(merge.SKU, *at) != nil
	plan := stock.PlanMerge(levelsOf(*all, back), demand, first, result.Outcomes)
	result.Segments, result.Merged, result.At = plan.Segments, plan.Merged, *at
	result.Expired, result.Stale = back.reservations, back.more()
	if until != nil {
		result.NextExpiry = until.UTC()
	}
	for _, i := range plan.Admitted {
		result.Outcomes[i] = stock.AcceptedOutcome(merge.SKU, merge.Orders[i], *at)
		if expiry := result.Outcomes[i].Deduction.ExpiresAt; !expiry.IsZero() && (result.NextExpiry.IsZero() || expiry.Before(result.NextExpiry)) {
			result.NextExpiry = expiry
		}
	}
	merge.At = *at
	return result, carryOut(ctx, tx, merge, plan, back.reservations > 0)
}

// passAll checks the layout and the fences of a merge on the rows of all segments.
func passAll(all []segmentRow, merge stock.Merge) error {
	if len(all) == 0 {
		return stock.UnknownSKU(merge.SKU)
	}
	refused := make(map[int]int64)
	for segment, row := range all {
		if row.layout != merge.Layout {
			return stock.ErrLayout
		}
		if !merge.Fences[segment].Passes(row.fence) {
			refused[segment] = row.fence.Token
		}
	}
	if len(refused) > 0 {
		return &stock.FencedError{Tokens: refused}
	}
	return nil
}

// carryOut writes what was planned. Units that came back are told of where some are left for others.
func carryOut(ctx context.Context, tx pgx.Tx, merge stock.Merge, plan stock.MergePlan, cameBack bool) error {
	write := &pgx.Batch{}
	if len(plan.Admitted) > 0 {
		if merge.Limit > 0 {
			queueCount(write, merge.SKU, merge.Limit, merge.Orders, plan.Admitted)
		}
		queueMerged(write, merge, plan)
		queueChanges(write, merge.SKU, plan.Changes, plan.Reserved, merge.Fences)
	}
	if cameBack && holdAny(plan.Segments) {
		write.Queue(notify, merge.SKU)
	}
	if write.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, write).Close()
}

func holdAny(segments []int64) bool {
	for _, available := range segments {
		if available > 0 {
			return true
		}
	}
	return false
}

// queueMerged inserts the deductions of a merge, and the parts of those that have several.
func queueMerged(write *pgx.Batch, merge stock.Merge, plan stock.MergePlan) {
	c := columnsOf(merge.Orders, plan.Admitted)
	var from []int32 // the one segment of each order, -1 where there are parts
	var several parts
	for _, i := range plan.Admitted {
		if given := plan.Parts[i]; len(given) == 1 {
			from = append(from, int32(given[0].Segment)) //nolint:gosec // at most stock.MaxSegments
			continue
		}
		from = append(from, -1)
		several.add(merge.Orders[i].OrderID, plan.Parts[i])
	}
	write.Queue(insertMerged, merge.SKU, c.orderIDs, c.buyerIDs, c.quantities, from, c.reserves, merge.At)
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
