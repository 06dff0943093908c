// Package citus keeps the stock in several PostgreSQL servers, which Citus turns into one database.
//
//	one SKU        ──> the tables of its shard, at its node (internal/stock/postgres, in the names of the shard)
//	several SKUs   ──> each at its own node; an order of several in one transaction over nodes, by the coordinator
//
// Citus says where shards are, moves them, and finishes transactions over nodes whose coordinator died. A write to a shard
// first takes Citus' own lock of the shard, so a move loses nothing: the write waits for the end of the move, fails because
// the shard has gone, and is repeated where the shard is now (placements.go).
//
// If a node is gone, only its SKUs are unavailable. Without the coordinator only orders of several SKUs stop.
package citus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
)

// Store is a [stock.Store] on a cluster. It is safe for concurrent use.
type Store struct {
	coordinator *node
	url         string // leads to the coordinator
	open        func(ctx context.Context, databaseURL string) (*postgres.Store, error)

	mu      sync.RWMutex
	now     *placements
	nodes   map[string]*node // all that there have ever been, by address
	shards  []*shard         // all that there have ever been
	onShard tables.Set       // the statements on the tables of a shard
	changed chan struct{}    // closed when placements are loaded

	loading singleflight.Group // of placements
	running sync.WaitGroup     // goroutines that query nodes in the background
	closing context.Context
	close   context.CancelFunc
}

var (
	_ stock.Store  = (*Store)(nil)
	_ stock.Sharer = (*Store)(nil)
)

// Open reads from the coordinator at a postgres:// URL which node has which shard. The nodes are reached by the names that
// Citus has for them, with the user, the password and the parameters of the URL. Each of configure may change the
// configuration of a node's pool.
func Open(ctx context.Context, databaseURL string, configure ...func(*pgxpool.Config)) (*Store, error) {
	coordinator, err := openCoordinator(ctx, databaseURL, configure...)
	if err != nil {
		return nil, err
	}
	s := &Store{
		coordinator: &node{address: "coordinator", store: coordinator}, url: databaseURL,
		nodes: make(map[string]*node), changed: make(chan struct{}), onShard: statements(shardFile),
	}
	s.closing, s.close = context.WithCancel(context.Background())
	s.open = func(ctx context.Context, databaseURL string) (*postgres.Store, error) {
		return openNode(ctx, databaseURL, configure...)
	}
	if err := s.load(ctx, nil); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// How often work is tried because a shard has moved or there was a deadlock. The pause grows with each try: the nodes learn
// of a move one after another.
const (
	mostTries = 8
	tryPause  = 20 * time.Millisecond
)

// again does work with the placements, and again with new ones if a shard has gone meanwhile. Nothing was written then, nor
// after a deadlock. Citus takes all sessions of a node that are not its own for one, and so sees deadlocks that are none.
func (s *Store) again(ctx context.Context, work func(*placements) error) error {
	for try := 1; ; try++ {
		p := s.placements()
		err := work(p)
		switch {
		case err == nil, errors.Is(err, stock.ErrHeld):
			return err
		case (shardGone(err) || postgres.Deadlocked(err)) && (try == mostTries || ctx.Err() != nil):
			return stock.Unwritten(err)
		case shardGone(err):
			if failed := s.load(ctx, p); failed != nil {
				return stock.Unwritten(errors.Join(err, failed))
			}
		case postgres.Deadlocked(err):
		default:
			if stock.CodeOf(err) == stock.CodeUnavailable && !postgres.Answered(err) {
				s.loadSoon(p) // another server may have taken the node's place
			}
			return err
		}
		select {
		case <-time.After(time.Duration(try) * tryPause):
		case <-ctx.Done():
			return stock.Unwritten(err)
		}
	}
}

// on does work where a SKU is.
func on[T any](ctx context.Context, s *Store, sku string, work func(*postgres.Store) (T, error)) (result T, err error) {
	err = s.again(ctx, func(p *placements) error {
		result, err = work(p.of(sku).store)
		return err
	})
	return result, err
}

// CreateSKU implements [stock.Store].
func (s *Store) CreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (bool, error) {
	if sku.LimitGroup != "" {
		return false, noGroups()
	}
	return on(ctx, s, sku.SKU, func(o *postgres.Store) (bool, error) { return o.CreateSKU(ctx, sku, at) })
}

// TryCreateSKU implements [stock.Store].
func (s *Store) TryCreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (bool, error) {
	if sku.LimitGroup != "" {
		return false, noGroups()
	}
	return on(ctx, s, sku.SKU, func(o *postgres.Store) (bool, error) { return o.TryCreateSKU(ctx, sku, at) })
}

// noGroups is the error for a SKU in a limit group: the SKUs of a group may be at different nodes, and its buyers' rows can be at one only.
func noGroups() error {
	return stock.Invalid("limit_group", "is not possible on Citus, where each SKU is sold at a node of its own")
}

// Status implements [stock.Store].
func (s *Store) Status(ctx context.Context, sku string, at time.Time) (stock.Status, error) {
	return on(ctx, s, sku, func(o *postgres.Store) (stock.Status, error) { return o.Status(ctx, sku, at) })
}

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	return on(ctx, s, batch.SKU, func(o *postgres.Store) (stock.BatchResult, error) { return o.Deduct(ctx, batch) })
}

// Share implements [stock.Sharer].
func (s *Store) Share(sku string, batch stock.SharedBatch) bool {
	return s.placements().of(sku).store.Share(sku, movable{batch})
}

// movable is a batch for a shard that may have gone. Deduct then writes it where the shard is.
type movable struct{ stock.SharedBatch }

// Written implements [stock.SharedBatch].
func (b movable) Written(result stock.BatchResult, decided bool, err error) {
	if shardGone(err) {
		decided, err = false, nil
	}
	b.SharedBatch.Written(result, decided, err)
}

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Batch) (stock.BatchResult, error) {
	return on(ctx, s, merge.SKU, func(o *postgres.Store) (stock.BatchResult, error) { return o.Merge(ctx, merge) })
}

// Settle implements [stock.Store].
func (s *Store) Settle(ctx context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	return on(ctx, s, settlement.SKU, func(o *postgres.Store) ([]stock.Settled, error) { return o.Settle(ctx, settlement) })
}

// Retake implements [stock.Store]. The coordinator retakes an order of several SKUs.
func (s *Store) Retake(ctx context.Context, deadline time.Time, retakes ...stock.Retake) (taken []stock.Deduction, err error) {
	if len(retakes) == 1 {
		return on(ctx, s, retakes[0].SKU, func(o *postgres.Store) ([]stock.Deduction, error) { return o.Retake(ctx, deadline, retakes...) })
	}
	err = s.again(ctx, func(*placements) error {
		taken, err = s.coordinator.store.Retake(ctx, deadline, retakes...)
		return err
	})
	return taken, err
}

// SettleOrder implements [stock.Store]. The coordinator does it in one transaction over the nodes, as it takes an order. It has to know
// the SKUs: an order's lines and their deductions are in different shards.
func (s *Store) SettleOrder(ctx context.Context, settlement stock.OrderSettlement) (results []stock.Settled, err error) {
	if settlement.SKUs == nil {
		return nil, nil
	}
	err = s.again(ctx, func(*placements) error {
		results, err = s.coordinator.store.SettleOrder(ctx, settlement)
		return err
	})
	return results, err
}

// ChangeOrder implements [stock.Store]. The coordinator does it in one transaction over the nodes.
func (s *Store) ChangeOrder(ctx context.Context, r stock.Revision) (done stock.Revised, err error) {
	err = s.again(ctx, func(*placements) error {
		done, err = s.coordinator.store.Base.ChangeOrder(ctx, r)
		return err
	})
	return done, err
}

// Expire implements [stock.Store].
func (s *Store) Expire(ctx context.Context, sku string, at time.Time) (int, error) {
	return on(ctx, s, sku, func(o *postgres.Store) (int, error) { return o.Expire(ctx, sku, at) })
}

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	return on(ctx, s, sku, func(o *postgres.Store) (stock.Deduction, error) { return o.Deduction(ctx, sku, orderID) })
}

// History implements [stock.Store].
func (s *Store) History(ctx context.Context, sku, orderID string) (stock.History, error) {
	return on(ctx, s, sku, func(o *postgres.Store) (stock.History, error) { return o.History(ctx, sku, orderID) })
}

// HandOvers implements [stock.Store].
func (s *Store) HandOvers(ctx context.Context, orderID string) ([]stock.Entry, error) {
	return on(ctx, s, orderID, func(o *postgres.Store) ([]stock.Entry, error) { return o.HandOvers(ctx, orderID) })
}

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return on(ctx, s, sku, func(o *postgres.Store) (map[string]stock.Deduction, error) { return o.Deductions(ctx, sku, orderIDs) })
}

// DueInGroup implements [stock.Store]. There are no groups.
func (s *Store) DueInGroup(context.Context, string, []string, time.Time) ([]string, error) {
	return nil, nil
}

// BuyerOrders implements [stock.Store].
func (s *Store) BuyerOrders(ctx context.Context, sku, buyerID string, own bool, limit int) ([]stock.Deduction, error) {
	return on(ctx, s, sku, func(o *postgres.Store) ([]stock.Deduction, error) {
		return o.BuyerOrders(ctx, sku, buyerID, own, limit)
	})
}

// DeductionPage implements [stock.Store].
func (s *Store) DeductionPage(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error) {
	return on(ctx, s, query.SKU, func(o *postgres.Store) (stock.DeductionPage, error) { return o.DeductionPage(ctx, query) })
}

// Move implements [stock.Store].
func (s *Store) Move(ctx context.Context, m stock.Movement) (bool, error) {
	if m.Terms.LimitGroup.To != "" {
		return false, noGroups()
	}
	return on(ctx, s, m.SKU, func(o *postgres.Store) (bool, error) { return o.Move(ctx, m) })
}

// CountEarlier implements [stock.Store].
func (s *Store) CountEarlier(ctx context.Context, sku string, page int) (bool, error) {
	return on(ctx, s, sku, func(o *postgres.Store) (bool, error) { return o.CountEarlier(ctx, sku, page) })
}

// Archive implements [stock.Store].
func (s *Store) Archive(ctx context.Context, sku string, at time.Time) (bool, error) {
	return on(ctx, s, sku, func(o *postgres.Store) (bool, error) { return o.Archive(ctx, sku, at) })
}

// Movements implements [stock.Store].
func (s *Store) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	return on(ctx, s, sku, func(o *postgres.Store) ([]stock.Movement, error) { return o.Movements(ctx, sku, after, limit) })
}

// NewestMovements implements [stock.Store].
func (s *Store) NewestMovements(ctx context.Context, sku string, before stock.Position, limit int) ([]stock.Movement, error) {
	return on(ctx, s, sku, func(o *postgres.Store) ([]stock.Movement, error) { return o.NewestMovements(ctx, sku, before, limit) })
}

// Forgotten implements [stock.Store].
func (s *Store) Forgotten(ctx context.Context) ([]stock.ForgottenBuyer, error) {
	return s.coordinator.store.Forgotten(ctx)
}

// errForget says that the keys of a buyer's own orders cannot change: they say in which shard an order is.
var errForget = errors.New("on Citus no buyer can be forgotten: an order's id says where it is")

// NoteForgetKey implements [stock.Store].
func (*Store) NoteForgetKey(context.Context, string) (bool, error) { return false, errForget }

// NoteForgotten implements [stock.Store].
func (*Store) NoteForgotten(context.Context, stock.ForgottenBuyer) error { return errForget }

// Forget implements [stock.Store].
func (*Store) Forget(context.Context, stock.Forgetting, stock.ForgetStep) (stock.ForgetStep, error) {
	return stock.ForgetStep{}, errForget
}

// Now implements [stock.Store]. It is the coordinator's clock; each node decides by its own.
func (s *Store) Now() time.Time { return s.coordinator.store.Now() }

// Clock implements [stock.Store]. It is the clock of the SKU's node.
func (s *Store) Clock(sku string) (earliest, latest time.Time) {
	return s.placements().of(sku).store.Clock(sku)
}

// Pool implements [stock.Store]. It counts the connections to all nodes together.
func (s *Store) Pool() (sum stock.Pool) {
	for _, n := range append(s.everyNode(), s.coordinator) {
		p := n.store.Pool()
		sum.Open, sum.Busy, sum.Waits, sum.Waited = sum.Open+p.Open, sum.Busy+p.Busy, sum.Waits+p.Waits, sum.Waited+p.Waited
	}
	return sum
}

// Close implements [stock.Store].
func (s *Store) Close() error {
	s.close()
	s.running.Wait()
	nodes := append(s.everyNode(), s.coordinator)
	errs := make([]error, len(nodes))
	var closed sync.WaitGroup
	for i, n := range nodes {
		closed.Go(func() { errs[i] = n.store.Close() })
	}
	closed.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the nodes: %w", err)
	}
	return nil
}
