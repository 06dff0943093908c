package tables

import (
	"time"

	"inventory/internal/stock"
)

// LockWhole reads deductions, each with the segment that gave all of it, for [Statements.Whole]. Each order id is looked up by
// itself, as in [SelectByIDs]. The ids are ascending, so the locks are taken in ascending order.
var LockWhole = `
SELECT` + DeductionColumns + `, d.segment
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id FOR UPDATE) AS d`

// What reads and writes deductions that are settled. Their rows are locked, so each still has the ctid under which it was found.
const (
	SelectParts = `
SELECT p.order_id, p.segment, p.quantity
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deduction_parts WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS p
ORDER BY p.order_id, p.segment`

	UpdateDeductions = `
UPDATE deductions AS d SET status = new.status, quantity = new.quantity, asked = nullif(new.asked, new.quantity)
FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[]) AS new (order_id, status, quantity, asked)
WHERE d.ctid = (SELECT ctid FROM deductions WHERE sku_id = $1 AND order_id = new.order_id)`

	// This row is locked last of all, and is not a segment's: a commit does not wait for workers that sell.
	KeepReserved = `UPDATE skus SET kept = kept + $2 WHERE sku_id = $1`

	SelectAmendments = `
SELECT a.order_id, a.ref, coalesce(a.returned, 0), coalesce(a.extended_micros, 0)
FROM unnest($2::text[], $3::text[]) AS asked (id, by)
CROSS JOIN LATERAL (SELECT * FROM amendments WHERE sku_id = $1 AND order_id = asked.id AND ref = asked.by OFFSET 0) AS a`

	UpdateAmended = `
UPDATE deductions AS d SET quantity = new.quantity, asked = nullif(new.asked, new.quantity), committed = nullif(new.committed, 0),
    expires_at = new.expires_at, reserve_micros = nullif(new.reserve_micros, 0)
FROM unnest($2::text[], $3::integer[], $4::integer[], $5::integer[], $6::timestamptz[], $7::bigint[])
    AS new (order_id, quantity, asked, committed, expires_at, reserve_micros)
WHERE d.ctid = (SELECT ctid FROM deductions WHERE sku_id = $1 AND order_id = new.order_id)`

	InsertAmendments = `
INSERT INTO amendments (sku_id, order_id, ref, returned, extended_micros, created_at)
SELECT $1, o, r, nullif(u, 0), nullif(e, 0), $6::timestamptz
FROM unnest($2::text[], $3::text[], $4::integer[], $5::bigint[]) AS new (o, r, u, e)`
)

// Whole reads deductions with their parts, by [LockWhole] or a statement that does not lock them.
func (s *Statements) Whole(statement, sku string, ids []string) map[string]stock.Deduction {
	there := make(map[string]stock.Deduction, len(ids))
	var r Deduction
	var segment *int
	columns := append(r.Columns(), &segment)
	s.Each(func(row Row) error {
		err := row.Scan(columns...)
		d := r.Read()
		if d.Merged = segment == nil; !d.Merged {
			d.Parts = []stock.Part{{Segment: *segment, Quantity: d.Quantity}}
		}
		there[d.OrderID] = d
		return err
	}, statement, sku, ids)
	s.Each(func(row Row) error {
		var id string
		var part stock.Part
		err := row.Scan(&id, &part.Segment, &part.Quantity)
		if d, found := there[id]; found { // otherwise it was committed between the two statements
			d.Parts = append(d.Parts, part)
			there[id] = d
		}
		return err
	}, SelectParts, sku, ids)
	return there
}

// Amendments reads the amendments that have the refs of requests. The deductions are locked, so none is under way.
func (s *Statements) Amendments(settlement stock.Settlement) map[string]stock.Amendment {
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
	s.Each(func(row Row) error {
		var a stock.Amendment
		err := row.Scan(&a.OrderID, &a.Ref, &a.Returned, (*Micros)(&a.Extended))
		there[a.OrderID] = a
		return err
	}, SelectAmendments, settlement.SKU, ids, refs)
	return there
}

// Settle writes what was planned at an instant. The rows that it changes are locked.
func (s *Statements) Settle(tx Tx, sku string, plan stock.SettlementPlan, at time.Time) {
	id := func(d stock.Deduction) string { return d.OrderID }
	quantity := func(d stock.Deduction) int32 { return int32(d.Quantity) }    //nolint:gosec // at most stock.MaxQuantity
	asked := func(d stock.Deduction) int32 { return int32(d.Order.Quantity) } //nolint:gosec // as above
	if changed := plan.Changed; len(changed) > 0 {
		s.Exec(UpdateDeductions, sku, stock.Column(changed, id),
			stock.Column(changed, func(d stock.Deduction) string { return string(d.Status) }),
			stock.Column(changed, quantity), stock.Column(changed, asked))
	}
	if amended := plan.Amended; len(amended) > 0 {
		s.Exec(UpdateAmended, sku, stock.Column(amended, id), stock.Column(amended, quantity), stock.Column(amended, asked),
			stock.Column(amended, func(d stock.Deduction) int64 { return d.Committed }),
			stock.Column(amended, func(d stock.Deduction) Instant { return Instant(d.ExpiresAt) }),
			stock.Column(amended, func(d stock.Deduction) int64 { return d.ReserveFor.Microseconds() }))
	}
	if len(plan.Split) > 0 {
		var kept parts
		for _, d := range plan.Split {
			kept.add(d.OrderID, d.Parts)
		}
		s.Exec(DeleteParts, sku, stock.Column(plan.Split, id))
		kept.insert(s, sku)
	}
	if made := plan.Amendments; len(made) > 0 {
		s.Exec(InsertAmendments, sku,
			stock.Column(made, func(a stock.Amendment) string { return a.OrderID }),
			stock.Column(made, func(a stock.Amendment) string { return a.Ref }),
			stock.Column(made, func(a stock.Amendment) int64 { return a.Returned }),
			stock.Column(made, func(a stock.Amendment) int64 { return a.Extended.Microseconds() }), at)
	}
	if plan.Units() > 0 {
		s.GiveBack(sku, plan.Returns)
		tx.Notify(s, sku)
	}
	if plan.Kept > 0 {
		s.Exec(KeepReserved, sku, plan.Kept)
	}
}
