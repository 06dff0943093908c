package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	return batch.Once(func(batch stock.Batch) (stock.BatchResult, error) {
		sharing := s.sharing
		if batch.Limit > 0 {
			sharing = s.limited
		}
		result, err := sharing.deduct(ctx, s, batch)
		return result, translate(err)
	})
}

// deductAlone writes a batch by itself.
func (s *Store) deductAlone(ctx context.Context, batch stock.Batch) (result stock.BatchResult, err error) {
	result, done, err := s.deductWhole(ctx, batch)
	if err != nil || done {
		return result, err
	}
	err = s.inTx(ctx, batch.Deadline, func(tx transaction) error {
		result, err = s.deduct(ctx, tx, batch)
		return err
	})
	return result, err
}

// deduct is a batch as a part of a transaction: it locks the segment, reads, decides, and writes.
//
// Only the segment is locked while it decides. A transaction on another segment may commit an order id or a buyer's units
// between the reads and the write. The write then changes fewer rows than expected: errRaced, and the transaction begins
// again.
func (s *Store) deduct(ctx context.Context, tx transaction, batch stock.Batch) (result stock.BatchResult, err error) {
	read := &pgx.Batch{}
	rows := queueLockSome(read, batch.SKU, batch.Segment)
	facts := queueFacts(read, batch.SKU, batch.Limit, batch.Orders)
	if batch.Limit > 0 {
		read.Queue(hasExpired, batch.SKU, instant(batch.At)).QueryRow(func(row pgx.Row) error { return row.Scan(&facts.HasExpired) })
	}
	s.queueInstant(read, batch.At, &facts.At)
	if err := tx.send(ctx, read); err != nil {
		return result, err
	}
	var row stock.Segment
	if len(*rows) > 0 {
		row = (*rows)[0]
	} else if err := tables.SKUExists(ctx, tx, batch.SKU); err != nil {
		return result, err
	}
	plan, err := stock.PlanBatch(batch, row, *facts)
	if err != nil || len(plan.Admitted) == 0 {
		return plan.BatchResult, err
	}
	write, orders := &pgx.Batch{}, stock.Pick(batch.Orders, plan.Admitted)
	if batch.Limit > 0 {
		queueCount(write, batch.SKU, batch.Limit, orders)
	}
	c := arraysOf(orders)
	for range orders {
		c.segments = append(c.segments, &batch.Segment)
	}
	c.queue(write, insertDeductions, batch.SKU, facts.At).Exec(allOf(len(orders)))
	var taken changes
	taken.add(batch.Segment, -plan.Units, plan.Reserved, batch.Fence)
	taken.queue(write, batch.SKU)
	return plan.BatchResult, tx.send(ctx, write)
}

// queueFacts reads the facts that orders are decided by. Buyers are read before order ids: a read that finds a buyer's
// units is followed by one that finds the order.
func queueFacts(read *pgx.Batch, sku string, limit int64, orders []stock.Order) *stock.Facts {
	facts := &stock.Facts{BuyerUnits: make(map[string]int64), Known: make(map[string]stock.Deduction)}
	if limit > 0 {
		read.Queue(selectBuyerUnits, sku, stock.BuyersOf(orders)).Query(each(tables.Into(facts.BuyerUnits)))
	}
	read.Queue(selectByIDs, sku, stock.IDsOf(orders)).Query(each(tables.DeductionsByID(facts.Known)))
	return facts
}
