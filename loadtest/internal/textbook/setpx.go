package textbook

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The lock of Redis' own documentation.
const (
	SetPXName = "SET NX PX"
	SetPXFlaw = "a holder that outlives its lease is not told and goes on; without a fencing token nobody stops its writes"
)

// deleteMine deletes a key that still has the value of its holder. KEYS: the key. ARGV: the value. Returns how many keys
// were deleted.
var deleteMine = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0
`)

// SetPX takes a key with a value of its own and a lease, in one command, and gives it back by compare-and-delete.
//
// Its flaw: nothing renews the lease, nothing tells a holder that it has ended, and there is no fencing token. A holder
// that is stopped for longer goes on as if it had the lock, beside the next one. And a release that gets lost costs
// everybody the rest of the lease.
type SetPX struct {
	Redis redis.UniversalClient
	Key   string
	Lease time.Duration
	Poll  time.Duration // how often a waiter tries
}

// Lock implements [Lock].
func (l SetPX) Lock(ctx context.Context) (Hold, error) { return again(ctx, l.Poll, l.TryLock) }

// TryLock implements [Lock].
func (l SetPX) TryLock(ctx context.Context) (Hold, error) {
	value := newValue()
	taken, err := l.Redis.SetNX(ctx, l.Key, value, l.Lease).Result()
	if err != nil {
		return nil, fmt.Errorf("take %s by SET NX PX: %w", l.Key, err)
	}
	if !taken {
		return nil, ErrBusy
	}
	return setPXHold{l, value}, nil
}

type setPXHold struct {
	lock  SetPX
	value string
}

// Unlock implements [Hold].
func (h setPXHold) Unlock(ctx context.Context) error {
	deleted, err := deleteMine.Run(ctx, h.lock.Redis, []string{h.lock.Key}, h.value).Int()
	if err != nil {
		return fmt.Errorf("give %s back: %w", h.lock.Key, err)
	}
	if deleted == 0 {
		return ErrNotHeld
	}
	return nil
}
