package locking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Hold is one successful Lock. It is safe for concurrent use. The holds of a reentrant lock are independent: each is
// unlocked separately and has its own deadline.
type Hold struct {
	base   context.Context // the context that Lock got, with an owner
	ctx    context.Context // the context of the work, made from base
	cancel context.CancelCauseFunc
	usual  end     // that by Unlock, if it is made with the hold
	parts  []*Hold // the holds that it consists of; nil for that of a single lock
	held   holdKind
}

// A holdKind is what a Hold is: of a single lock, of a MultiLock or of a RedLock.
type holdKind interface {
	ownerName() string
	token() int64
	tokenAbove(ctx context.Context, n int64) (int64, error)
	remaining() time.Duration
	count() int

	// isLost reports whether a hold that has not been unlocked is no longer ours, as far as this process knows.
	isLost() bool

	// stepBack lets the owner wait for locks that come before those of the hold.
	stepBack()

	// unlock is Unlock, perhaps of a part of a hold that is lost.
	unlock(ctx context.Context, lost bool) error
}

func (h *Hold) is() holdKind {
	if h.held == nil {
		return tokenless{} // the zero Hold
	}
	return h.held
}

// tokenless is what the hold of several locks says of itself if its type says nothing else, and what the zero Hold says.
type tokenless struct{}

func (tokenless) ownerName() string                  { return "" }
func (tokenless) token() int64                       { return 0 }
func (tokenless) remaining() time.Duration           { return 0 }
func (tokenless) count() int                         { return 0 }
func (tokenless) isLost() bool                       { return false }
func (tokenless) stepBack()                          {}
func (tokenless) unlock(context.Context, bool) error { return nil }
func (tokenless) tokenAbove(context.Context, int64) (int64, error) {
	return 0, fmt.Errorf("%w: a MultiLock has no token", ErrInvalid)
}

// Context returns the context of the work under the lock. It carries the owner, so that Lock under it re-enters. It ends with the
// context that Lock got, with Unlock, and when the lock is lost; then context.Cause is ErrLost.
func (h *Hold) Context() context.Context {
	if h.ctx == nil {
		return context.Background() // the zero Hold
	}
	return h.ctx
}

// Token returns the fencing token. It grows every time the lock goes from free to held, and is the same on re-entry. A
// guard that refuses lower ones is safe from a holder that does not know that it is late. A MultiLock's hold has none
// and returns 0; its Parts have one each.
func (h *Hold) Token() int64 { return h.is().token() }

// maxToken bounds what a token is raised to: scripts count in doubles, which are exact up to here. Tokens that are minted
// above it grow by two.
const maxToken = 1<<53 - 1

// TokenAbove returns a token of this hold that is greater than n: the one that it has, or a new one. It heals a guard that has seen
// a token from a time when the server's clock ran ahead, or before a failover. Such a guard would refuse every holder until the
// clock has caught up. Only an owner that still holds the lock gets one; any other gets ErrLost. The hold's Token and those of its
// owner's other holds of the lock change with it. n may be up to 2^53 - 2. The hold of a MultiLock has no token: ask its Parts.
func (h *Hold) TokenAbove(ctx context.Context, n int64) (int64, error) {
	if n < 0 || n >= maxToken {
		return 0, fmt.Errorf("%w: no token above %d", ErrInvalid, n)
	}
	return h.is().tokenAbove(ctx, n)
}

// Remaining is how much longer the hold can be relied on if nothing renews it; 0 when it has ended. For a MultiLock it is
// the shortest of its parts. For a RedLock it is the time until fewer than a quorum of its parts live.
func (h *Hold) Remaining() time.Duration { return h.is().remaining() }

// Count is how many holds the owner has now of the same grant: 0 when the grant is over, also if the owner has got the lock
// again since. For a MultiLock it is the smallest count of its parts.
func (h *Hold) Count() int { return h.is().count() }

// Owner returns the owner: the process, a colon, and the owner's own id. The server's state of the lock adds another
// colon and the number of the grant. For a MultiLock or a RedLock it is the owner of the first part.
func (h *Hold) Owner() string { return h.is().ownerName() }

// Parts returns the holds of a MultiLock, or those that a RedLock has got on its nodes, in the order of the
// arguments; nil for a Mutex. Unlock gives them back as well.
func (h *Hold) Parts() []*Hold { return h.parts }

// Unlock gives the hold back, and with the owner's last one the lock. It works also when ctx has ended, and takes 3 s at most,
// whatever other goroutines of the owner do. ErrLost means that the hold was no longer ours. If that is known already, Unlock does
// not wait for the server, which learns of it in the background. ErrNoAnswer, or any other error, means that the release is not
// confirmed: it is repeated in the background while the lock can exist, and nothing renews the lock any more. A second Unlock does
// nothing and returns nil.
func (h *Hold) Unlock(ctx context.Context) error {
	is := h.is()
	return is.unlock(ctx, is.isLost())
}

// A jointHold is what the holds of a MultiLock and of a RedLock have in common: they live while enough of their parts do.
type jointHold struct {
	Hold
	tokenless
	need  int           // how many parts are enough
	stops []func() bool // they end the watch over the parts
}

// begin makes a hold without parts yet. It returns the hold's context, from which those of the parts are made, so that none
// outlives it.
func (h *jointHold) begin(base context.Context, is holdKind, need int) context.Context {
	h.base, h.held, h.need = base, is, need
	h.ctx, h.cancel = context.WithCancelCause(base)
	return h.ctx
}

// watch ends the hold when too many of its parts are lost. The contexts of the parts that are left end with it, and nothing renews
// those any more. So they keep others from waiting no longer than their leases, and their owner may wait for any lock.
func (h *jointHold) watch() {
	lost := func() {
		if h.tooFew(func(part *Hold) bool { return !errors.Is(context.Cause(part.Context()), ErrLost) }) {
			h.stepBack()
			h.end(ErrLost) // in vain where all parts ended because the hold has
		}
	}
	for _, part := range h.parts {
		h.stops = append(h.stops, context.AfterFunc(part.Context(), lost))
	}
}

func (h *jointHold) finish() {
	for _, stop := range h.stops {
		stop()
	}
	h.end(context.Canceled)
}

func (h *jointHold) tooFew(good func(part *Hold) bool) bool {
	left := 0
	for _, part := range h.parts {
		if good(part) {
			left++
		}
	}
	return left < h.need
}

func (h *jointHold) isLost() bool {
	return h.tooFew(func(part *Hold) bool { return !part.is().isLost() })
}

func (h *jointHold) stepBack() {
	for _, part := range h.parts {
		part.is().stepBack()
	}
}

func (h *jointHold) ownerName() string { return h.parts[0].Owner() }

func (h *jointHold) remaining() time.Duration {
	if len(h.parts) < h.need {
		return 0
	}
	left := make([]time.Duration, len(h.parts))
	for i, part := range h.parts {
		left[i] = part.Remaining()
	}
	slices.Sort(left)
	return left[len(left)-h.need]
}

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

func (h *Hold) end(why error) {
	if why == h.usual.why { //nolint:errorlint // the very same one: to allocate less
		h.cancel(&h.usual)
		return
	}
	h.cancel(&end{h, why})
}

// outlive returns a context that ends when another one does, unless that ends because of a hold that it outlives. Then it
// follows the context that the hold's own was made from. A deadline holds in any case.
func outlive(from context.Context, outlives func(*Hold) bool) (context.Context, context.CancelCauseFunc) {
	base, stop := context.WithoutCancel(from), context.CancelFunc(func() {})
	if deadline, ok := from.Deadline(); ok {
		base, stop = context.WithDeadline(base, deadline)
	}
	ctx, cancel := context.WithCancelCause(base)
	context.AfterFunc(ctx, stop)
	follow(ctx, from, cancel, outlives)
	return ctx, cancel
}

// follow ends ctx when the other one does.
func follow(ctx, other context.Context, cancel context.CancelCauseFunc, outlives func(*Hold) bool) {
	stop := context.AfterFunc(other, func() {
		cause := context.Cause(other)
		if over, ok := errors.AsType[*end](cause); ok && outlives(over.hold) {
			follow(ctx, over.hold.base, cancel, outlives)
			return
		}
		cancel(cause)
	})
	context.AfterFunc(ctx, func() { stop() })
}
