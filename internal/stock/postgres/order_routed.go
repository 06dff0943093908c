package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Statements that Citus carries out in all shards that they concern. It finds the shards of an update by the array that its
// key is compared with, and copies rows that are selected from arrays to their shards. Most of the cost is for the statement
// and for the two phases, not for a row. Therefore orders share these statements.
const (
	takeRouted = `
UPDATE stock_segments g
SET available   = g.available - taken.units,
    reserved    = g.reserved + taken.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN token = 0 THEN g.fence ELSE token END,
    fence_owner = CASE WHEN token = 0 THEN g.fence_owner ELSE owner END
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[])
     AS taken (sku, segment, layout, token, owner, units, reserved)
WHERE g.sku_id = ANY ($1::text[]) AND g.sku_id = sku AND g.segment = taken.segment AND g.layout = taken.layout
  AND g.available >= taken.units AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner))`

	copyOrders = `
INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
SELECT id, nullif(buyer, ''), r, coalesce(at, clock_timestamp()) FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[]) AS asked (id, buyer, r, at)`

	copyOrderLines = `
INSERT INTO order_lines (order_id, sku_id, quantity) SELECT * FROM unnest($1::text[], $2::text[], $3::integer[])`
)

var copyDeductions = tables.WithInsertOf("sku", `
{insert}
FROM unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::integer[], $6::timestamptz[], {texts})
     AS asked (sku, o, q, r, s, at, {names})`, 7)

// How long orders wait for a row. Citus finds a deadlock over several nodes after two seconds at the soonest. Orders that share
// a write hold the rows of many SKUs meanwhile.
const (
	routedWait   = "500ms"
	sharedRouted = `SET LOCAL lock_timeout = '100ms'`
)

// errApart says that orders cannot be written together. Nothing of them is written.
var errApart = errors.New("the orders do not go together")

// orderRouted writes orders in one transaction over nodes. If one of them is not taken, because it is there already or a
// segment holds too little, none is: then it tries each half, until that order is by itself.
func (s *Store) orderRouted(ctx context.Context, deadline time.Time, orders []stock.Placement) ([]*time.Time, error) {
	at, err := s.orderGroup(ctx, deadline, orders)
	switch {
	case !nothingWritten(err):
		return at, err
	case len(orders) == 1:
		return make([]*time.Time, 1), nil
	}
	first, err := s.orderRouted(ctx, deadline, orders[:len(orders)/2])
	if err != nil {
		return nil, err
	}
	second, err := s.orderRouted(ctx, deadline, orders[len(orders)/2:])
	if errors.Is(err, stock.ErrUnwritten) { // but the first half is written: let the others go by themselves
		second, err = make([]*time.Time, len(orders)-len(first)), nil
	}
	return append(first, second...), err
}

// orderGroup writes orders, all of them or none.
func (s *Store) orderGroup(ctx context.Context, deadline time.Time, orders []stock.Placement) (at []*time.Time, err error) {
	err = s.inTx(ctx, deadline, func(tx transaction) error {
		at, err = takeOrders(ctx, tx, orders)
		if Answered(err) {
			return errors.Join(errApart, err)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("place orders: %w", err)
	}
	return at, nil
}

// takeOrders takes orders, and locks as every write does: the rows of the orders, then the segments, then the deductions.
func takeOrders(ctx context.Context, tx transaction, orders []stock.Placement) ([]*time.Time, error) {
	o := columnsOf(orders)
	rows, _ := rowsOf(orders)
	lines := tables.ArraysOf(o.lines)
	var now time.Time
	take := &tables.Statements{}
	take.Exec(sharedRouted)
	take.Exec(copyOrders, o.ids, o.buyers, o.reserves, o.given.orNull())
	take.Exec(copyOrderLines, lines.OrderIDs, o.skus, lines.Quantities)
	take.Exec(takeRouted, rows.skus, rows.segments, rows.layouts, rows.tokens, rows.owners, rows.units, rows.reserved).
		Wrote = takesAll(len(rows.skus))
	tx.Instant(take, time.Time{}, &now)
	if err := tx.Send(ctx, take); err != nil {
		return nil, err
	}
	at := make([]*time.Time, len(orders))
	var each []time.Time // the instant of each line
	for n, p := range orders {
		decided := now
		if !p.At.IsZero() {
			decided = p.At
		}
		for _, line := range p.Lines {
			if line.SaleWindow.Refusal("", decided) != nil {
				return nil, errApart
			}
			each = append(each, decided)
		}
		at[n] = &decided
	}
	args := []any{o.skus, lines.OrderIDs, lines.Quantities, o.lineReserves, o.segments, each}
	return at, tx.Exec(ctx, copyDeductions, append(args, lines.Texts...)...)
}

// takesAll expects that all rows had what was wanted of them.
func takesAll(rows int) func(int64) error {
	return func(written int64) error {
		if written != int64(rows) {
			return errApart
		}
		return nil
	}
}

// orderColumns are what unnest turns into rows of orders, and of their lines.
type orderColumns struct {
	ids, buyers []string
	reserves    []int64 // microseconds
	given       instants

	lines        []stock.Order // each for its order
	skus         []string
	segments     []int32
	lineReserves []int64
}

func columnsOf(orders []stock.Placement) (c orderColumns) {
	for _, p := range orders {
		order, reserve := p.Order, p.Order.ReserveFor.Microseconds()
		c.ids, c.buyers, c.reserves = append(c.ids, order.OrderID), append(c.buyers, order.BuyerID), append(c.reserves, reserve)
		c.given = append(c.given, instantOrNull(p.At))
		for i, line := range order.Lines {
			c.lines, c.skus = append(c.lines, order.Of(line)), append(c.skus, line.SKU)
			c.segments = append(c.segments, int32(p.Lines[i].Segment)) //nolint:gosec // at most stock.MaxSegments
			c.lineReserves = append(c.lineReserves, reserve)
		}
	}
	return c
}

// wantedRows are rows of segments, and how many of the units wanted from each are reserved.
type wantedRows struct {
	rowArrays
	reserved []int64
}

// rowsOf returns the rows that the lines of orders want, and the number of each line's row, from 1.
func rowsOf(orders []stock.Placement) (w wantedRows, from []int64) {
	numbers := make(map[segmentOf]int)
	for _, p := range orders {
		for i, line := range p.Lines {
			row, units := rowOf(p, i), p.Order.Lines[i].Quantity
			number, there := numbers[row]
			if !there {
				number = w.add(row.sku, line)
				numbers[row], w.reserved = number, append(w.reserved, 0)
			}
			from = append(from, int64(number))
			w.units[number-1] += units
			if p.Order.ReserveFor > 0 {
				w.reserved[number-1] += units
			}
		}
	}
	return w, from
}
