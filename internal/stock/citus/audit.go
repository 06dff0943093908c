package citus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
)

// How long an audit waits for transactions over nodes to end. Citus finishes transactions that are left behind every
// citus.recover_2pc_interval, a minute by default.
const (
	settleWait = 5 * time.Second
	settlePoll = 100 * time.Millisecond
)

// Audit implements [stock.Store].
//
// A SKU is in one shard, so its balance is of one snapshot there. Only the lines of orders span nodes: an order's row and its
// lines are in one shard, and say which deductions must be in others. A line without its deduction is read again until it has
// one. If it gets none, or a transaction stays between its two phases, that is a violation, which names it.
func (s *Store) Audit(ctx context.Context, sku string, audited func(done, of int)) (audit stock.Audit, err error) {
	err = s.again(ctx, func(p *placements) error {
		audit, err = balances(ctx, p, sku, audited)
		return err
	})
	if err != nil {
		return stock.Audit{}, err
	}
	lines, open, err := s.unsettled(ctx, sku)
	if err != nil {
		return stock.Audit{}, err
	}
	for i := range audit.SKUs {
		b := &audit.SKUs[i]
		for _, line := range lines {
			if line.sku == b.SKU {
				b.Violations = append(b.Violations, fmt.Sprintf("SKU %q: order %q is not settled: its line has no deduction", b.SKU, line.orderID))
			}
		}
		if i == 0 {
			b.Violations = append(b.Violations, open...)
		}
	}
	return audit, nil
}

// HasMoreOrders implements [stock.Store]: no node may have more.
func (s *Store) HasMoreOrders(ctx context.Context, sku string, than int) (bool, error) {
	if sku != "" {
		return on(ctx, s, sku, func(o *postgres.Store) (bool, error) { return o.HasMoreOrders(ctx, sku, than) })
	}
	var more []bool
	err := s.again(ctx, func(p *placements) (err error) {
		more, err = eachNode(p, func(h *shard) ([]bool, error) {
			one, err := h.store.HasMoreOrders(ctx, "", than)
			return []bool{one}, err
		})
		return err
	})
	return slices.Contains(more, true), err
}

// balances reads the balances of all SKUs, or of one, each at its node. Of all, it tells nobody how far it is: nodes work beside each other.
func balances(ctx context.Context, p *placements, sku string, audited func(done, of int)) (audit stock.Audit, err error) {
	if sku != "" {
		return p.of(sku).store.Audit(ctx, sku, audited)
	}
	audit.SKUs, err = eachNode(p, func(h *shard) ([]stock.Balance, error) {
		some, err := h.store.Audit(ctx, "", nil)
		return some.SKUs, err
	})
	slices.SortFunc(audit.SKUs, func(a, b stock.Balance) int { return cmp.Compare(a.SKU, b.SKU) })
	return audit, err
}

// orderLine is a line of an order of several SKUs.
type orderLine struct{ orderID, sku string }

// orderLines reads the lines of the orders of a shard, those of one SKU if it is not "".
func orderLines(ctx context.Context, s *postgres.Store, sku string) ([]orderLine, error) {
	return tables.All(ctx, s.DB, func(row tables.Row) (line orderLine, err error) {
		err = row.Scan(&line.orderID, &line.sku)
		return line, err
	}, "order_lines", sku)
}

// unsettled returns the lines of orders that have no deduction, and names the transactions between their two phases, that are so now
// and still within settleWait.
func (s *Store) unsettled(ctx context.Context, sku string) (lines []orderLine, open []string, err error) {
	err = s.again(ctx, func(p *placements) error {
		lines, err = eachNode(p, func(h *shard) ([]orderLine, error) { return orderLines(ctx, h.store, sku) })
		return err
	})
	if err == nil {
		lines, err = s.without(ctx, lines)
	}
	if err == nil {
		open, err = s.prepared(ctx)
	}
	for until := time.Now().Add(settleWait); err == nil && len(lines)+len(open) > 0 && time.Now().Before(until); {
		select {
		case <-time.After(settlePoll):
		case <-ctx.Done():
			return nil, nil, errors.Join(errors.New("wait for orders to be settled"), ctx.Err())
		}
		var still []string
		if lines, err = s.without(ctx, lines); err == nil {
			still, err = s.prepared(ctx)
		}
		open = slices.DeleteFunc(open, func(name string) bool { return !slices.Contains(still, name) })
	}
	return lines, open, err
}

// without returns the lines that have no deduction.
func (s *Store) without(ctx context.Context, lines []orderLine) (left []orderLine, err error) {
	orders := make(map[string][]string)
	for _, line := range lines {
		orders[line.sku] = append(orders[line.sku], line.orderID)
	}
	for sku, ids := range orders {
		found, err := s.Deductions(ctx, sku, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if _, there := found[id]; !there {
				left = append(left, orderLine{id, sku})
			}
		}
	}
	return left, nil
}

// prepared names the transactions that are between their two phases.
func (s *Store) prepared(ctx context.Context) (names []string, err error) {
	for _, n := range s.placements().nodes {
		ids, err := tables.All(ctx, n.store.DB, tables.Value[string], "prepared")
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			names = append(names, fmt.Sprintf("a transaction over nodes is not settled: %s at %s", id, n.address))
		}
	}
	return names, nil
}
