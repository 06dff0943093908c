package locking

import (
	"context"
	"errors"
	"slices"
)

// An end is why the context of a hold has ended: context.Canceled by Unlock, or ErrLost. It names the hold, so that a
// context made from the hold's can tell that end from any other.
type end struct {
	hold *Hold
	why  error
}

// Error implements error.
func (e *end) Error() string { return e.why.Error() }

// Unwrap returns context.Canceled or ErrLost.
func (e *end) Unwrap() error { return e.why }

// end ends the context of a hold.
func (h *Hold) end(why error) { h.cancel(&end{h, why}) }

// has tells whether a hold is one of the lock with a state key, or has such a part.
func (h *Hold) has(l *Locks, state string) bool {
	if s, ok := h.held.(*singleHold); ok {
		return s.locks == l && s.lock.stateKey == state
	}
	return slices.ContainsFunc(h.parts, func(part *Hold) bool { return part.has(l, state) })
}

// outlive returns a context that ends when another one does, unless that ends because of a hold that is spared. Then it
// follows the context that the hold's own was made from. A deadline holds in any case.
func outlive(from context.Context, spared func(*Hold) bool) (context.Context, context.CancelCauseFunc) {
	base, stop := context.WithoutCancel(from), context.CancelFunc(func() {})
	if deadline, ok := from.Deadline(); ok {
		base, stop = context.WithDeadline(base, deadline)
	}
	ctx, cancel := context.WithCancelCause(base)
	context.AfterFunc(ctx, stop)
	follow(ctx, from, cancel, spared)
	return ctx, cancel
}

// follow ends ctx when the other one does.
func follow(ctx, other context.Context, cancel context.CancelCauseFunc, spared func(*Hold) bool) {
	stop := context.AfterFunc(other, func() {
		cause := context.Cause(other)
		if over := (*end)(nil); errors.As(cause, &over) && spared(over.hold) {
			follow(ctx, over.hold.base, cancel, spared)
			return
		}
		cancel(cause)
	})
	context.AfterFunc(ctx, func() { stop() })
}
