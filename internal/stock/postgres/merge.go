package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

const lockSegments = `
SELECT available, fence, fence_owner FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE`

const insertMerged = `
INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
SELECT $1, o, nullif(b, ''), q, nullif(s, -1), 'committed', $6
FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[]) AS asked (o, b, q, s)
ORDER BY o COLLATE "C"`

const insertParts = `
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT $1, o, s, q FROM unnest($2::text[], $3::integer[], $4::integer[]) AS part (o, s, q)`

// One statement lowers the donors and raises the segment that the rest is gathered in.
const changeSegments = `
UPDATE stock_segments g
SET available   = g.available + change.units,
    version     = g.version + 1,
    fence       = CASE WHEN change.token = 0 THEN g.fence ELSE change.token END,
    fence_owner = CASE WHEN change.token = 0 THEN g.fence_owner ELSE change.owner END
FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::text[]) AS change (segment, units, token, owner)
WHERE g.sku_id = $1 AND g.segment = change.segment`

// Merge implements [stock.Store].
//
// While it holds the rows of all segments no other deduction of the SKU is under way, since each begins with a
// row of them. So the order ids that it looks up after that are all there are, and its inserts cannot conflict.
func (s *Store) Merge(ctx context.Context, merge stock.Merge) (stock.MergeResult, error) {
	first, repeats := stock.Unique(merge.Orders)
	result := stock.MergeResult{Outcomes: make([]stock.Outcome, len(merge.Orders))}
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		segments, err := lockAll(ctx, tx, merge.SKU, merge.Fences)
		if err != nil {
			return err
		}
		known, err := selectDeductions(ctx, tx, merge.SKU, idsOf(merge.Orders, first))
		if err != nil {
			return err
		}
		plan := stock.PlanMerge(segments, merge.Orders, first, known, result.Outcomes)
		result.Segments, result.Merged = plan.Segments, plan.Merged
		return carryOut(ctx, tx, merge, plan, result.Outcomes)
	})
	if err != nil {
		return stock.MergeResult{}, err
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

// lockAll locks the rows of all segments, ascending, checks the fences on them, and returns what they hold.
func lockAll(ctx context.Context, tx pgx.Tx, sku string, fences map[int]stock.Fence) ([]int64, error) {
	rows, err := tx.Query(ctx, lockSegments, sku)
	if err != nil {
		return nil, err
	}
	var segments []int64
	var available int64
	var row stock.Fence
	refused := make(map[int]int64)
	_, err = pgx.ForEachRow(rows, []any{&available, &row.Token, &row.Owner}, func() error {
		if segment := len(segments); !fences[segment].Passes(row) {
			refused[segment] = row.Token
		}
		segments = append(segments, available)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(segments) == 0:
		return nil, stock.UnknownSKU(sku)
	case len(refused) > 0:
		return nil, &stock.FencedError{Tokens: refused}
	}
	return segments, nil
}

func carryOut(ctx context.Context, tx pgx.Tx, merge stock.Merge, plan stock.MergePlan, outcomes []stock.Outcome) error {
	if len(plan.Admitted) == 0 {
		return nil
	}
	c := columnsOf(merge.Orders, plan.Admitted)
	var from []int32 // the one segment of each order, -1 where there are parts
	var parts struct {
		orderIDs             []string
		segments, quantities []int32
	}
	for _, i := range plan.Admitted {
		o := merge.Orders[i]
		outcomes[i] = stock.AcceptedOutcome(merge.SKU, o)
		if given := plan.Parts[i]; len(given) == 1 {
			from = append(from, int32(given[0].Segment)) //nolint:gosec // at most stock.MaxSegments
			continue
		}
		from = append(from, -1)
		for _, p := range plan.Parts[i] {
			parts.orderIDs = append(parts.orderIDs, o.OrderID)
			parts.segments = append(parts.segments, int32(p.Segment))      //nolint:gosec // at most stock.MaxSegments
			parts.quantities = append(parts.quantities, int32(p.Quantity)) //nolint:gosec // at most stock.MaxQuantity
		}
	}
	trip := &pgx.Batch{}
	trip.Queue(insertMerged, merge.SKU, c.orderIDs, c.buyerIDs, c.quantities, from, merge.At)
	trip.Queue(insertParts, merge.SKU, parts.orderIDs, parts.segments, parts.quantities)
	queueChanges(trip, merge, plan.Changes)
	return tx.SendBatch(ctx, trip).Close()
}

func queueChanges(trip *pgx.Batch, merge stock.Merge, changes []int64) {
	var segments []int32
	var units, tokens []int64
	var owners []string
	for segment, change := range changes {
		if change != 0 {
			segments = append(segments, int32(segment)) //nolint:gosec // at most stock.MaxSegments
			units = append(units, change)
			tokens = append(tokens, merge.Fences[segment].Token)
			owners = append(owners, merge.Fences[segment].Owner)
		}
	}
	trip.Queue(changeSegments, merge.SKU, segments, units, tokens, owners)
}
