package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
)

// limitWaits bounds how long a transaction waits for each row from now on.
const limitWaits = `SELECT set_config('lock_timeout', $1, true)`

// sharedSettlement is a settlement in a shared write, or before one.
type sharedSettlement struct {
	stock.Settlement
	ctx    context.Context //nolint:containedctx // of the caller, whose deadline the write keeps
	ids    []string        // ascending: the order in which they are locked
	ground ground
	there  map[string]stock.Deduction // under locks
	answer chan settledAnswer
}

// settledAnswer is what became of a settlement in a shared write.
type settledAnswer struct {
	results []stock.Settled // nil: nothing of it is written, and it goes by itself
	err     error           // the outcome is not known
}

// newSettlementSharing returns what lets settlements of different SKUs share a transaction.
func newSettlementSharing(s *Store) *gatherer[*sharedSettlement] {
	return &gatherer[*sharedSettlement]{choose: chooseSettlements, carry: s.settleShared}
}

// settleTogether settles in a transaction that may be shared with others. It returns nil where that has not settled it: then it
// goes by itself, and is decided as if this had not been tried.
func (s *Store) settleTogether(ctx context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	b := &sharedSettlement{Settlement: settlement, ctx: ctx, ids: idsOf(settlement), answer: make(chan settledAnswer, 1)}
	if s.sharing.which == sharedNone || len(b.ids) > largestShared || ctx.Err() != nil || !b.hasTime() {
		return nil, nil
	}
	s.settlements.push(b)
	patience := time.NewTimer(writerWait)
	defer patience.Stop()
	for {
		select {
		case a := <-b.answer:
			return a.results, a.err
		case <-ctx.Done():
			s.settlements.withdraw(b)
			return nil, ctx.Err()
		case <-patience.C:
			if s.settlements.withdraw(b) {
				return nil, nil
			}
		}
	}
}

func (b *sharedSettlement) deadline() time.Time {
	until, _ := b.ctx.Deadline()
	return earlier(b.Deadline, until)
}

func (b *sharedSettlement) hasTime() bool {
	deadline := b.deadline()
	return deadline.IsZero() || time.Until(deadline) > sharedSlack
}

// chooseSettlements takes those that have waited longest, one of each SKU, and at most mostShared requests.
func chooseSettlements(waiting []*sharedSettlement) (taken, left []*sharedSettlement) {
	requests, skus := 0, make(map[string]bool, len(waiting))
	left = waiting[:0]
	for _, b := range waiting {
		if requests+len(b.ids) > mostShared || skus[b.SKU] {
			left = append(left, b)
			continue
		}
		requests, skus[b.SKU] = requests+len(b.ids), true
		taken = append(taken, b)
	}
	return taken, left
}

// settleShared settles in one transaction, and answers.
func (s *Store) settleShared(all []*sharedSettlement) {
	slices.SortFunc(all, func(a, b *sharedSettlement) int { return strings.Compare(a.SKU, b.SKU) }) // the order of the locks
	ctx, cancel := lastOf(len(all), func(i int) context.Context { return all[i].ctx })
	defer cancel()
	var deadline time.Time
	for _, b := range all {
		deadline = earlier(deadline, b.deadline())
	}
	var results [][]stock.Settled
	err := s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return s.once(ctx, conn, deadline, func(tx pgx.Tx) (err error) {
			results, err = s.settleAll(ctx, tx, all)
			return err
		})
	})
	if nothingWritten(err) || errors.Is(err, errRaced) || errors.Is(err, stock.ErrLate) {
		results, err = make([][]stock.Settled, len(all)), nil
	}
	for i, b := range all {
		if err != nil {
			b.answer <- settledAnswer{err: err}
		} else {
			b.answer <- settledAnswer{results: results[i]}
		}
	}
}

// settleAll settles in a transaction, in three round trips. The results are nil for what it cannot decide.
func (s *Store) settleAll(ctx context.Context, tx pgx.Tx, all []*sharedSettlement) ([][]stock.Settled, error) {
	find, lock, write := &pgx.Batch{}, &pgx.Batch{}, &pgx.Batch{}
	for _, b := range all {
		b.ground = ground{count: 1}
		if slices.ContainsFunc(b.Requests, stock.SettleRequest.MayReturn) {
			b.ground.queueFind(find, b.Settlement, b.ids)
		}
	}
	if err := sendAny(ctx, tx, find); err != nil {
		return nil, err
	}
	lock.Queue(limitWaits, sharedWait)
	for _, b := range all {
		b.ground.learn(b.Settlement)
		b.there = b.ground.queueLock(lock, b.SKU, b.ids)
	}
	var now time.Time
	s.queueInstant(lock, time.Time{}, &now)
	if err := sendAny(ctx, tx, lock); err != nil {
		return nil, err
	}
	results := make([][]stock.Settled, len(all))
	for i, b := range all {
		plan := stock.PlanSettlement(b.Settlement, b.there, cmp.Or(b.At, now), b.ground.count)
		if len(b.there) == 0 || !b.ground.covers(plan.Returns) {
			continue
		}
		results[i] = plan.Results
		if len(plan.Changed) > 0 {
			queueSettlement(write, b.SKU, plan)
		}
	}
	return results, sendAny(ctx, tx, write)
}

// sendAny sends what is queued, if anything.
func sendAny(ctx context.Context, tx pgx.Tx, trip *pgx.Batch) error {
	if trip.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, trip).Close()
}
