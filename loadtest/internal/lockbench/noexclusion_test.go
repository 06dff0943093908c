//go:build !race

package lockbench

import (
	"context"
	"testing"
	"time"

	"inventory/loadtest/internal/kinds"
)

// TestNoExclusionShowsWhereNobodyHoldsTheLock lets all callers in, to do nothing. It is a race on purpose.
func TestNoExclusionShowsWhereNobodyHoldsTheLock(t *testing.T) {
	t.Parallel()
	var all []kinds.Lock
	for range 64 {
		all = append(all, kinds.Lock(func(_ context.Context, _ bool) (kinds.Hold, error) { return unlockFunc(func() {}), nil }))
	}
	if got := drive(t.Context(), load{Window: 100 * time.Millisecond}, all); got.Violations == 0 {
		t.Errorf("%d acquisitions of nothing exclude each other", got.All)
	}
}
