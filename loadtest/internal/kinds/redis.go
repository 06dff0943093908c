package kinds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The locks of textbooks on Redis, and the flaw of all that have a lease and no token.
const (
	SetNXExpire = "SETNX + EXPIRE"
	SetPX       = "SET NX PX"
	Signal      = "SET NX PX, BLPOP"

	leaseFlaw = "a holder that outlives its lease is not told and goes on; without a fencing token nobody stops its writes"
)

// onRedis opens the locks of a kind on Redis. What one leaves behind is its key.
func onRedis(kind string, lock func(rdb *redis.Client, key string, t Timing) Lock) func(context.Context, Setting) (*Client, error) {
	return func(ctx context.Context, s Setting) (*Client, error) {
		rdb, err := OpenRedis(ctx, s.RedisURL, s)
		if err != nil {
			return nil, err
		}
		key := func(name string) string { return kind + ":" + name }
		return &Client{
			Lock:   func(name string) Lock { return lock(rdb, key(name), s.Timing) },
			Forget: func(ctx context.Context, name string) error { return rdb.Del(ctx, key(name)).Err() },
			Close:  rdb.Close,
		}, nil
	}
}

// setNXExpire is the lock of the oldest tutorials: it takes a key by SETNX, then gives it a lease by EXPIRE, and gives it back
// by DEL.
//
// Its flaws: a holder that dies between SETNX and EXPIRE leaves a key that never goes. The key's value says nothing, so a
// holder that is late deletes the next one's lock, and lets a third one in. And those of [setPX].
func setNXExpire(rdb *redis.Client, key string, t Timing) Lock {
	return recipe{
		take: func(ctx context.Context, _ string) (bool, error) {
			taken, err := rdb.Do(ctx, "SETNX", key, 1).Bool()
			if err == nil && taken {
				err = rdb.PExpire(ctx, key, t.Lease).Err()
			}
			return taken, err
		},
		give: func(ctx context.Context, _ string) (bool, error) { return true, rdb.Del(ctx, key).Err() },
	}.polled(key, t.Poll)
}

// deleteMine deletes a key that still has the value of its holder. KEYS: the key. ARGV: the value. Returns how many keys
// were deleted.
var deleteMine = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0
`)

// setPX is the lock of Redis' own documentation: it takes a key with a value of its own and a lease, in one command, and gives
// it back by compare-and-delete.
//
// Its flaw: the lease is not renewed, its end is not reported to the holder, and there is no fencing token. A holder that is
// stopped for longer goes on as if it had the lock, as the next one does. After a lost release all wait for the rest of the lease.
func setPX(rdb *redis.Client, key string, t Timing) Lock {
	return withLease(rdb, t.Lease, deleteMine, key).polled(key, t.Poll)
}

// withLease takes the first of some keys, which all are known to the script that gives it back.
func withLease(rdb *redis.Client, lease time.Duration, giveBack *redis.Script, keys ...string) recipe {
	return recipe{
		take: func(ctx context.Context, owner string) (bool, error) {
			return rdb.SetNX(ctx, keys[0], owner, lease).Result()
		},
		give: func(ctx context.Context, owner string) (bool, error) {
			return giveBack.Run(ctx, rdb, keys, owner).Bool()
		},
	}
}

// signalMine is deleteMine which also leaves one signal for a waiter, for a second. KEYS: the key, the list of signals.
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

// signal is [setPX] whose release wakes a waiter: waiters wait for an element of a list (BLPOP), first come first served, and
// then try. A caller that comes in between is faster, and the waiter waits for the next release. Waiters also poll, as a holder
// that has died releases nothing.
//
// Its flaws: those of [setPX]; and a waiter occupies a connection.
func signal(rdb *redis.Client, key string, t Timing) Lock {
	signals := key + ":signals"
	return withLease(rdb, t.Lease, signalMine, key, signals).again(key, func(ctx context.Context) error {
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
	})
}
