package postgres

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
)

// mostLooks bounds how many SKUs one statement reads.
const mostLooks = 256

// look is what was read of a SKU. The zero look says that nothing was read.
type look struct {
	done  bool
	view  stock.View
	known bool // the SKU exists
}

// sharedLook is a look that may be shared.
type sharedLook struct {
	sku   string
	store *Store // that has it
}

// newLookSharing returns a gatherer that lets looks at different SKUs that wait at the same time share a statement, or a message
// if they are in different shards. No look gets an older answer than by itself: the statement starts after all that share it.
func newLookSharing() *gatherer[sharedLook, look] {
	room := func() func(sharedLook) bool {
		taken := 0
		return func(sharedLook) bool {
			taken++
			return taken <= mostLooks
		}
	}
	return &gatherer[sharedLook, look]{room: room, carry: lookShared}
}

// lookShared reads SKUs. If that fails, each look goes by itself.
func lookShared(ctx context.Context, _ time.Time, asked []sharedLook) ([]look, error) {
	looks := make([]look, len(asked))
	views, err := lookTogether(ctx, asked)
	if err != nil {
		return looks, nil //nolint:nilerr // each look gets the error by itself
	}
	for i, one := range asked {
		view, known := views[one.sku]
		view.Segments = slices.Clone(view.Segments) // each has its own to keep
		looks[i] = look{true, view, known}
	}
	return looks, nil
}

// lookTogether reads SKUs in one message.
func lookTogether(ctx context.Context, asked []sharedLook) (map[string]stock.View, error) {
	skus := make(map[*Store][]string)
	for _, one := range asked {
		if !slices.Contains(skus[one.store], one.sku) {
			skus[one.store] = append(skus[one.store], one.sku)
		}
	}
	first := asked[0].store
	if !first.pool.dialect.locks() {
		return first.look(ctx, skus[first]...)
	}
	views := make(map[string]stock.View, len(asked))
	var statements shardStatements
	for store, some := range skus {
		statements.in(store.pool.dialect, selectViews, some).Each = store.readViews(views)
	}
	return views, statements.send(ctx, first.pool)
}

// Views implements [stock.Store].
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	if len(skus) != 1 || s.sharing.which == sharedNone {
		return s.look(ctx, skus...)
	}
	got, err := s.looks.together(ctx, time.Time{}, sharedLook{skus[0], s})
	if err != nil {
		return nil, err
	}
	if !got.done {
		return s.look(ctx, skus...)
	}
	views := make(map[string]stock.View, 1)
	if got.known {
		views[skus[0]] = got.view
	}
	return views, nil
}
