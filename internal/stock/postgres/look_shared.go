package postgres

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
)

// mostLooks is how many SKUs one statement looks at, at most.
const mostLooks = 256

// look is what is known of a SKU. The zero look says that nobody has looked.
type look struct {
	done  bool
	view  stock.View
	known bool // the SKU exists
}

// newLookSharing returns what lets looks at different SKUs that wait at the same time share a statement. Nothing is known
// before a look is asked for: the statement begins after all that share it.
func newLookSharing(s *Store) *gatherer[string, look] {
	room := func() func(string) bool {
		taken := 0
		return func(string) bool {
			taken++
			return taken <= mostLooks
		}
	}
	return &gatherer[string, look]{room: room, carry: s.lookShared}
}

// lookShared looks at SKUs by one statement. If it fails, each looks by itself.
func (s *Store) lookShared(ctx context.Context, _ time.Time, skus []string) ([]look, error) {
	looks := make([]look, len(skus))
	views, err := s.look(ctx, slices.Compact(slices.Sorted(slices.Values(skus)))...)
	if err != nil {
		return looks, nil //nolint:nilerr // each meets the error by itself
	}
	for i, sku := range skus {
		view, known := views[sku]
		view.Segments = slices.Clone(view.Segments) // each has its own to keep
		looks[i] = look{true, view, known}
	}
	return looks, nil
}

// Views implements [stock.Store].
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	if len(skus) != 1 || s.sharing.which == sharedNone {
		return s.look(ctx, skus...)
	}
	got, err := s.looks.together(ctx, time.Time{}, skus[0])
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
