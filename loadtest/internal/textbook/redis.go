package textbook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The locks on Redis.
const (
	SetNXExpireName = "SETNX + EXPIRE"
	SetNXExpireFlaw = "two steps: a holder that dies in between locks for ever; and DEL gives back whoever's lock it is"

	SetPXName = "SET NX PX"
	SetPXFlaw = "a holder that outlives its lease is not told and goes on; without a fencing token nobody stops its writes"

	SignalName = "SET NX PX, BLPOP"
	SignalFlaw = "that of SET NX PX; and a waiter occupies a connection"
)

// SetNXExpire is the lock of the oldest tutorials: it takes a key by SETNX, then gives it a lease by EXPIRE, and gives it back
// by DEL.
//
// Its flaws: a holder that dies between SETNX and EXPIRE leaves a key that never goes. The key's value says nothing, so a
// holder that is late deletes the next one's lock, and lets a third one in. And those of [SetPX].
func SetNXExpire(rdb redis.UniversalClient, key string, t Timing) Lock {
	return polled(t.Poll, func(ctx context.Context) (Hold, error) {
		taken, err := rdb.Do(ctx, "SETNX", key, 1).Int()
		if err != nil {
			return nil, fmt.Errorf("take %s by SETNX: %w", key, err)
		}
		if taken == 0 {
			return nil, ErrBusy
		}
		if err := rdb.PExpire(ctx, key, t.Lease).Err(); err != nil {
			return nil, fmt.Errorf("give %s a lease: %w", key, err)
		}
		return unlock(func(ctx context.Context) error {
			if err := rdb.Del(ctx, key).Err(); err != nil {
				return fmt.Errorf("give %s back: %w", key, err)
			}
			return nil
		}), nil
	})
}

// deleteMine deletes a key that still has the value of its holder. KEYS: the key. ARGV: the value. Returns how many keys
// were deleted.
var deleteMine = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0
`)

// SetPX is the lock of Redis' own documentation: it takes a key with a value of its own and a lease, in one command, and gives
// it back by compare-and-delete.
//
// Its flaw: nothing renews the lease, nothing tells a holder that it has ended, and there is no fencing token. A holder
// that is stopped for longer goes on as if it had the lock, beside the next one. And a release that gets lost costs
// everybody the rest of the lease.
func SetPX(rdb redis.UniversalClient, key string, t Timing) Lock {
	return polled(t.Poll, setPX(rdb, t.Lease, deleteMine, key))
}

// setPX takes the first of some keys, which all are known to the script that gives it back.
func setPX(rdb redis.UniversalClient, lease time.Duration, giveBack *redis.Script, keys ...string) func(context.Context) (Hold, error) {
	return func(ctx context.Context) (Hold, error) {
		value := newValue()
		taken, err := rdb.SetNX(ctx, keys[0], value, lease).Result()
		if err != nil {
			return nil, fmt.Errorf("take %s by SET NX PX: %w", keys[0], err)
		}
		if !taken {
			return nil, ErrBusy
		}
		return unlock(func(ctx context.Context) error {
			deleted, err := giveBack.Run(ctx, rdb, keys, value).Int()
			if err != nil {
				return fmt.Errorf("give %s back: %w", keys[0], err)
			}
			if deleted == 0 {
				return ErrNotHeld
			}
			return nil
		}), nil
	}
}

// signalMine is deleteMine which also leaves one signal for whoever waits, for a second. KEYS: the key, the list of signals.
var signalMine = redis.NewScript(`
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call("DEL", KEYS[1], KEYS[2])
redis.call("LPUSH", KEYS[2], 1)
redis.call("PEXPIRE", KEYS[2], 1000)
return 1
`)

// longestBLPOP is shorter than clients wait for an answer.
const longestBLPOP = time.Second

// Signal is [SetPX] whose release wakes a waiter: waiters wait for an element of a list (BLPOP), first come first served, and
// then try. One that comes in between is faster, and the waiter waits for the next release. Where no release comes, for
// its holder has died, waiters try every so often.
//
// Its flaws: those of [SetPX]; and a waiter occupies a connection.
func Signal(rdb redis.UniversalClient, key string, t Timing) Lock {
	signals := key + ":signals"
	return lock{setPX(rdb, t.Lease, signalMine, key, signals), func(ctx context.Context) error {
		patience := min(t.Poll, longestBLPOP)
		if end, has := ctx.Deadline(); has { // the server keeps it: a connection that is cut off would be lost
			patience = min(patience, time.Until(end))
		}
		if patience > 0 {
			seconds := max(patience, time.Millisecond).Seconds() // go-redis' own BLPop knows whole ones alone
			err := rdb.Do(context.WithoutCancel(ctx), "BLPOP", signals, seconds).Err()
			if err != nil && !errors.Is(err, redis.Nil) {
				return fmt.Errorf("wait for %s: %w", key, err)
			}
		}
		return ctx.Err()
	}}
}
