package postgres

import (
	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// The first segment's row is always there, and whoever changes the layout begins with it. So the statement after this one
// sees all rows that there are: one that had to wait itself would not see new ones.
const lockLayout = `SELECT FROM stock_segments WHERE sku_id = $1 AND segment = 0 FOR UPDATE`

const segmentColumns = `available, reserved, fence, fence_owner, layout, version`

const lockSegments = `
SELECT ` + segmentColumns + ` FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE`

const lockSome = `
SELECT ` + segmentColumns + ` FROM stock_segments WHERE sku_id = $1 AND segment = ANY ($2::integer[]) ORDER BY segment FOR UPDATE`

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
	trip.Queue(lockLayout, sku)
	return queueSegments(trip, lockSegments, sku)
}

// queueLockSome locks the rows of some segments, ascending. Those that are not there are missing in the result.
func queueLockSome(trip *pgx.Batch, sku string, segments ...int) *[]stock.Segment {
	return queueSegments(trip, lockSome, sku, segments)
}

func queueSegments(trip *pgx.Batch, statement string, args ...any) *[]stock.Segment {
	var found []stock.Segment
	trip.Queue(statement, args...).Query(func(rows pgx.Rows) error {
		var r stock.Segment
		_, err := pgx.ForEachRow(rows, []any{&r.Available, &r.Reserved, &r.Fence.Token, &r.Fence.Owner, &r.Layout, &r.Version}, func() error {
			found = append(found, r)
			return nil
		})
		return err
	})
	return &found
}

// changes are what changeSegments does to segments, whose rows are locked.
type changes struct {
	segments               []int32
	units, reserved, token []int64
	owners                 []string
}

// add adds units to a segment, which may be below zero, and to what reservations have taken from it. The zero fence leaves
// the row's.
func (c *changes) add(segment int, units, reserved int64, fence stock.Fence) {
	if units == 0 && reserved == 0 {
		return
	}
	c.segments = append(c.segments, int32(segment)) //nolint:gosec // at most stock.MaxSegments
	c.units, c.reserved = append(c.units, units), append(c.reserved, reserved)
	c.token, c.owners = append(c.token, fence.Token), append(c.owners, fence.Owner)
}

func (c *changes) queue(trip *pgx.Batch, sku string) {
	trip.Queue(changeSegments, sku, c.segments, c.units, c.reserved, c.token, c.owners)
}
