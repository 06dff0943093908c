package postgres

import (
	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// The first segment's row is always there, and whoever changes the layout begins with it. So the statement after this one
// sees all rows that there are: one that had to wait itself would not see new ones.
const lockLayout = `SELECT FROM stock_segments WHERE sku_id = $1 AND segment = 0 FOR UPDATE`

const lockSegments = `
SELECT available, reserved, fence, fence_owner, layout, version
FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE`

// One statement lowers the donors and raises the others.
const changeSegments = `
UPDATE stock_segments g
SET available   = g.available + change.units,
    reserved    = g.reserved + change.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN change.token = 0 THEN g.fence ELSE change.token END,
    fence_owner = CASE WHEN change.token = 0 THEN g.fence_owner ELSE change.owner END
FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) AS change (segment, units, reserved, token, owner)
WHERE g.sku_id = $1 AND g.segment = change.segment`

// queueLockAll locks the rows of all segments, ascending. None means that there is no such SKU.
func queueLockAll(trip *pgx.Batch, sku string) *[]stock.Segment {
	var all []stock.Segment
	trip.Queue(lockLayout, sku)
	trip.Queue(lockSegments, sku).Query(func(rows pgx.Rows) error {
		var r stock.Segment
		_, err := pgx.ForEachRow(rows, []any{&r.Available, &r.Reserved, &r.Fence.Token, &r.Fence.Owner, &r.Layout, &r.Version}, func() error {
			all = append(all, r)
			return nil
		})
		return err
	})
	return &all
}

// queueChanges changes what segments hold, and what reservations have taken from them, nil for nothing. The fences are those
// of the locks, if any.
func queueChanges(trip *pgx.Batch, sku string, changes, reserved []int64, fences map[int]stock.Fence) {
	if reserved == nil {
		reserved = make([]int64, len(changes))
	}
	var segments []int32
	var units, taken, tokens []int64
	var owners []string
	for segment, change := range changes {
		if change != 0 || reserved[segment] != 0 {
			segments = append(segments, int32(segment)) //nolint:gosec // at most stock.MaxSegments
			units, taken = append(units, change), append(taken, reserved[segment])
			tokens = append(tokens, fences[segment].Token)
			owners = append(owners, fences[segment].Owner)
		}
	}
	trip.Queue(changeSegments, sku, segments, units, taken, tokens, owners)
}
