package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// As in selectByIDs, each ref is looked up by itself.
const selectAmendments = `
SELECT a.order_id, a.ref, coalesce(a.returned, 0), coalesce(a.extended_micros, 0)
FROM unnest($2::text[], $3::text[]) AS asked (id, ref)
CROSS JOIN LATERAL (SELECT * FROM amendments WHERE sku_id = $1 AND order_id = asked.id AND ref = asked.ref OFFSET 0) AS a`

// The rows are locked, so each still has the ctid under which it was found.
const updateAmended = `
UPDATE deductions d SET quantity = new.quantity, asked = nullif(new.asked, new.quantity), committed = nullif(new.committed, 0),
    expires_at = new.expires_at, reserve_micros = nullif(new.reserve_micros, 0)
FROM unnest($2::text[], $3::integer[], $4::integer[], $5::integer[], $6::timestamptz[], $7::bigint[])
    AS new (order_id, quantity, asked, committed, expires_at, reserve_micros)
WHERE d.ctid = (SELECT ctid FROM deductions WHERE sku_id = $1 AND order_id = new.order_id)`

const insertAmendments = `
INSERT INTO amendments (sku_id, order_id, ref, returned, extended_micros, created_at)
SELECT $1, o, r, nullif(u, 0), nullif(e, 0), $6::timestamptz
FROM unnest($2::text[], $3::text[], $4::integer[], $5::bigint[]) AS new (o, r, u, e)`

// queueAmendments reads the amendments that have the refs of requests. The deductions are locked, so none is under way.
func queueAmendments(trip *pgx.Batch, settlement stock.Settlement) map[string]stock.Amendment {
	var ids, refs []string
	for _, request := range settlement.Requests {
		if request.Amends() {
			ids, refs = append(ids, request.OrderID), append(refs, request.Ref)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	there := make(map[string]stock.Amendment)
	trip.Queue(selectAmendments, settlement.SKU, ids, refs).Query(func(rows pgx.Rows) error {
		var a stock.Amendment
		_, err := pgx.ForEachRow(rows, []any{&a.OrderID, &a.Ref, &a.Returned, (*tables.Micros)(&a.Extended)}, func() error {
			there[a.OrderID] = a
			return nil
		})
		return err
	})
	return there
}

// queueAmended writes what was planned of amendments.
func queueAmended(write *pgx.Batch, sku string, plan stock.SettlementPlan, at time.Time) {
	if amended := plan.Amended; len(amended) > 0 {
		write.Queue(updateAmended, sku,
			stock.Column(amended, func(d stock.Deduction) string { return d.OrderID }),
			stock.Column(amended, func(d stock.Deduction) int64 { return d.Quantity }),
			stock.Column(amended, func(d stock.Deduction) int64 { return d.Order.Quantity }),
			stock.Column(amended, func(d stock.Deduction) int64 { return d.Committed }),
			stock.Column(amended, func(d stock.Deduction) *time.Time { return instant(d.ExpiresAt) }),
			stock.Column(amended, func(d stock.Deduction) int64 { return d.ReserveFor.Microseconds() }))
	}
	if made := plan.Amendments; len(made) > 0 {
		write.Queue(insertAmendments, sku,
			stock.Column(made, func(a stock.Amendment) string { return a.OrderID }),
			stock.Column(made, func(a stock.Amendment) string { return a.Ref }),
			stock.Column(made, func(a stock.Amendment) int64 { return a.Returned }),
			stock.Column(made, func(a stock.Amendment) int64 { return a.Extended.Microseconds() }), at)
	}
}
