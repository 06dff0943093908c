package postgres

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Order implements [stock.Store].
//
// If each line has a segment, one statement is tried first, which orders that wait at the same time share. It only accepts, it
// does not refuse. All other orders have a transaction of their own.
//
// At the coordinator of a cluster an order is a transaction over nodes, and an order that is there already is not read.
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	if placement.KnownOnly {
		lines, err = tables.ReplayOrder(ctx, s.pool, placement)
		return lines, false, translate(err)
	}
	if lines, created, err = s.orderTogether(ctx, placement); created || err != nil {
		return lines, created, translate(err)
	}
	return s.orderAlone(ctx, placement)
}

// orderAlone places an order by a transaction of its own.
func (s *Store) orderAlone(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		lines, created, err = tables.PlaceOrder(ctx, tx, placement, true, func(line stock.Batch) (stock.BatchResult, error) {
			return s.deduct(ctx, tx, line, placement.At)
		})
		if err == nil && !created && !s.pool.dialect.routes() { // otherwise its lines are in other shards: package citus reads them
			lines, err = tables.ReplayOrder(ctx, tx, placement)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}
