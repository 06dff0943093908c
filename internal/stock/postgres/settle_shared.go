package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// newSettlementSharing returns a gatherer that lets settlements of different SKUs share a transaction.
func newSettlementSharing(s *Store) *gatherer[*settling, []stock.Settled] {
	room := oneOfEachSKU(func(w *settling) (string, int) { return w.SKU, len(w.ids) })
	return &gatherer[*settling, []stock.Settled]{room: room, carry: s.settleShared}
}

// settleTogether settles in a transaction that may be shared with others. It returns nil if the transaction has not settled it:
// then the settlement goes by itself.
func (s *Store) settleTogether(ctx context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	if s.sharing.which == sharedNone || len(settlement.Requests) > stock.LargestShared {
		return nil, nil
	}
	w := settlingOf(settlement)
	w.access = s.pool.access
	return s.settlements.together(ctx, settlement.Deadline, w)
}

// settleShared settles in one transaction. The results are nil for what it cannot decide: there may be no such SKU, or a
// deduction has changed since it was found.
func (s *Store) settleShared(ctx context.Context, deadline time.Time, all []*settling) ([][]stock.Settled, error) {
	inOrder := slices.SortedFunc(slices.Values(all), func(a, b *settling) int { return strings.Compare(a.SKU, b.SKU) })
	var find joint
	for _, w := range inOrder {
		find.lock(w.access)
	}
	lock := &tables.Statements{}
	lock.Exec("limit_waits", sharedWait)
	err := s.once(ctx, deadline, func(tx transaction) error { return settle(ctx, tx, &find.Statements, lock, inOrder...) })
	results := make([][]stock.Settled, len(all))
	for i, w := range all {
		if len(w.there) > 0 {
			results[i] = w.results
		}
	}
	return results, err
}
