package tables

import (
	"context"

	"inventory/internal/stock"
)

// LockLayout locks the first segment's row, which is always there, and which every change of the layout locks first. So the
// statement after this one sees all rows: a statement that had to wait for this row itself would not see new ones.
const LockLayout = `SELECT 1 FROM stock_segments WHERE sku_id = $1 AND segment = 0 FOR UPDATE`

const segmentColumns = `available, reserved, fence, fence_owner, layout, version`

// What locks the rows of segments, ascending.
const (
	LockSegments = `
SELECT ` + segmentColumns + ` FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE`

	LockSome = `
SELECT ` + segmentColumns + ` FROM stock_segments WHERE sku_id = $1 AND segment = ANY ($2::integer[]) ORDER BY segment FOR UPDATE`
)

// LockAll locks the rows of all segments. None means that there is no such SKU.
func (s *Statements) LockAll(sku string) *[]stock.Segment {
	s.Exec(LockLayout, sku)
	return s.segments(LockSegments, sku)
}

// LockSome locks the rows of some segments. Segments that do not exist are missing in the result.
func (s *Statements) LockSome(sku string, segments ...int) *[]stock.Segment {
	return s.segments(LockSome, sku, segments)
}

func (s *Statements) segments(statement string, args ...any) *[]stock.Segment {
	var found []stock.Segment
	s.Each(func(row Row) error {
		one, err := segment(row)
		found = append(found, one)
		return err
	}, statement, args...)
	return &found
}

func segment(row Row) (s stock.Segment, err error) {
	err = row.Scan(&s.Available, &s.Reserved, &s.Fence.Token, &s.Fence.Owner, &s.Layout, &s.Version)
	return s, err
}

// Segments reads the rows of all segments of a SKU, of which there is at least one.
func Segments(ctx context.Context, q Querier, sku string) ([]stock.Segment, error) {
	segments, err := All(ctx, q, segment, LockSegments, sku)
	if err == nil && segments == nil {
		err = stock.UnknownSKU(sku)
	}
	return segments, err
}

// ChangeSegments lowers some segments and raises others.
const ChangeSegments = `
UPDATE stock_segments AS g
SET available   = g.available + change.units,
    reserved    = g.reserved + change.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN change.token = 0 THEN g.fence ELSE change.token END,
    fence_owner = CASE WHEN change.token = 0 THEN g.fence_owner ELSE change.owner END
FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) AS change (segment, units, reserved, token, owner)
WHERE g.sku_id = $1 AND g.segment = change.segment`

// Changes are what [ChangeSegments] does to segments, whose rows are locked.
type Changes struct {
	segments               []int32
	units, reserved, token []int64
	owners                 []string
}

// Add adds units, which may be below zero, to a segment, and reserved to what reservations have taken from it. The zero fence
// leaves the row's.
func (c *Changes) Add(segment int, units, reserved int64, fence stock.Fence) {
	if units == 0 && reserved == 0 {
		return
	}
	c.segments = append(c.segments, int32(segment)) //nolint:gosec // at most stock.MaxSegments
	c.units, c.reserved = append(c.units, units), append(c.reserved, reserved)
	c.token, c.owners = append(c.token, fence.Token), append(c.owners, fence.Owner)
}

// Change changes segments.
func (s *Statements) Change(sku string, c Changes) {
	if len(c.segments) > 0 {
		s.Exec(ChangeSegments, sku, c.segments, c.units, c.reserved, c.token, c.owners)
	}
}
