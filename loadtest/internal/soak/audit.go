package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"inventory/internal/stock"
	"inventory/loadtest/internal/books"
)

// account is what came of the run: the answers beside the rows.
type account struct {
	rows       int64 // deductions of the run that are there
	complaints books.Complaints
}

// kept is a deduction that may be in the rows.
type kept struct {
	request uint32 // that asked for it first
	units   int64
}

// audit recomputes all balances, reads the row of every deduction that was sent, and holds them against the answers.
func (s *soak) audit(ctx context.Context) (a account, err error) {
	fates := s.fates()
	s.refusals(fates)
	balances, err := s.to.Audit(ctx)
	if err != nil {
		return s.account, err
	}
	store, err := s.to.Read(ctx)
	if err != nil {
		return s.account, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	all, moves := s.asked(fates), s.moves(fates)
	for n := range uint32(s.SKUs) {
		committed, err := s.readRows(ctx, store, n, all[n], fates)
		if err != nil {
			return s.account, fmt.Errorf("audit: read the orders of SKU %s: %w", s.plan.SKU(n), err)
		}
		s.judgeBalance(balances, n, committed, moves[n])
	}
	return s.account, nil
}

// asked are the deductions that were asked for, of each SKU: some in a retry alone, because the first request was not sent.
func (s *soak) asked(fates []fate) [][]kept {
	all := make([][]kept, s.SKUs)
	for i, x := range s.plan.items {
		if !fates[i].done.sent {
			continue
		}
		switch x.kind {
		case deduct, reserve:
			all[x.sku] = append(all[x.sku], kept{uint32(i), int64(x.units)})
		case order:
			for _, l := range s.plan.lines(x.concern) {
				all[l.sku] = append(all[l.sku], kept{uint32(i), l.units})
			}
		}
	}
	return all
}

// lookUp is how many orders are looked up at once.
const lookUp = 1000

// readRows looks up what was asked of a SKU, and returns what is committed of it.
func (s *soak) readRows(ctx context.Context, store stock.Store, sku uint32, all []kept, fates []fate) (committed int64, err error) {
	for some := range slices.Chunk(all, lookUp) {
		ids := make([]string, len(some))
		for n, k := range some {
			ids[n] = s.plan.id(k.request)
		}
		found, err := store.Deductions(ctx, s.plan.SKU(sku), ids)
		if err != nil {
			return 0, err
		}
		for n, k := range some {
			row, there := found[ids[n]]
			s.judge(k, fates[k.request], row, there)
			if there {
				s.account.rows++
			}
			if row.Status == stock.StatusCommitted {
				committed += row.Quantity
			}
		}
	}
	return committed, nil
}

// judge holds what was answered about a deduction against its row.
func (s *soak) judge(k kept, f fate, row stock.Deduction, there bool) {
	c, id, x := &s.account.complaints, s.plan.id(k.request), s.plan.items[k.request]
	switch {
	case (f.done.yes || f.committed.yes || f.cancelled.yes) && !there:
		c.Add("orders that buyers were told of have no row", id)
	case !there:
	case !f.done.yes && !f.done.open:
		c.Add("orders that were refused have a row", id)
	case row.Quantity != k.units || row.BuyerID != buyer(k.request):
		c.Add("rows are not what was asked for", id)
	case !slices.Contains(f.states(x.kind), row.Status):
		c.Add(fmt.Sprintf("orders are %s, and their buyers were told something else", row.Status), id)
	}
}

// states are those in which an order may be after what its buyer was told.
func (f fate) states(k kind) (states []stock.DeductionStatus) {
	begins := []stock.DeductionStatus{stock.StatusCommitted}
	if k == reserve {
		begins = []stock.DeductionStatus{stock.StatusReserved, stock.StatusExpired} // which of them, the clock says
	}
	switch {
	case f.cancelled.yes && k == reserve: // it may have expired before
		return []stock.DeductionStatus{stock.StatusCancelled, stock.StatusExpired}
	case f.cancelled.yes:
		return []stock.DeductionStatus{stock.StatusCancelled}
	case f.committed.yes:
		return []stock.DeductionStatus{stock.StatusCommitted}
	}
	if states = begins; f.committed.open {
		states = append(states, stock.StatusCommitted)
	}
	if f.cancelled.open {
		states = append(states, stock.StatusCancelled)
	}
	return states
}

// judgeBalance holds the balance of a SKU against what was put in, corrected, and kept of it.
func (s *soak) judgeBalance(all stock.Audit, sku uint32, committed int64, move moved) {
	name := s.plan.SKU(sku)
	say := func(format string, values ...any) {
		s.account.complaints.Say("SKU " + name + ": " + fmt.Sprintf(format, values...))
	}
	at := slices.IndexFunc(all.SKUs, func(b stock.Balance) bool { return b.SKU == name })
	if at < 0 {
		say("the database does not know it: is it the one that the service uses?")
		return
	}
	b := all.SKUs[at]
	if d := b.Difference(); d != 0 {
		say("%d units are missing", d)
	}
	for _, violation := range b.Violations {
		say("%s", violation)
	}
	if b.Committed != committed {
		say("%d units are committed, and %d by the orders of this run", b.Committed, committed)
	}
	if b.Initial != s.Stock {
		say("%d units in the beginning instead of %d", b.Initial, s.Stock)
	}
	for _, m := range []struct {
		what  string
		is    int64
		shall span
	}{{"restocked", b.Restocked, move.restocked}, {"adjusted", b.Adjusted, move.adjusted}} {
		if m.is < m.shall.least || m.is > m.shall.most {
			say("%d units were %s, and %d to %d as it was answered", m.is, m.what, m.shall.least, m.shall.most)
		}
	}
}

// moved is what the movements of a SKU have changed, at least and at most: some got no answer.
type moved struct {
	restocked, adjusted span
}

type span struct{ least, most int64 }

func (s *span) add(units int64, what said) {
	switch {
	case what.yes:
		s.least, s.most = s.least+units, s.most+units
	case what.open:
		s.least, s.most = s.least+min(units, 0), s.most+max(units, 0)
	}
}

// moves are those of each SKU.
func (s *soak) moves(fates []fate) []moved {
	all := make([]moved, s.SKUs)
	for i, x := range s.plan.items {
		switch x.kind {
		case restock:
			all[x.sku].restocked.add(int64(x.units), fates[i].done)
		case adjust:
			all[x.sku].adjusted.add(int64(x.units), fates[i].done)
		}
	}
	return all
}
