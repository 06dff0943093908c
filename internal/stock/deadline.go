package stock

import (
	"context"
	"slices"
	"time"
)

// Earlier returns the earlier of two instants; the zero time is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// WhileAny returns the context of a write that several callers share. It ends at the last of their deadlines; the zero time
// is none, and then it does not end by itself.
func WhileAny(deadlines ...time.Time) (context.Context, context.CancelFunc) {
	if slices.ContainsFunc(deadlines, time.Time.IsZero) {
		return context.WithCancel(context.Background())
	}
	return context.WithDeadline(context.Background(), slices.MaxFunc(deadlines, time.Time.Compare))
}
