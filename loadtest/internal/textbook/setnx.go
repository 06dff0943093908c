package textbook

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The lock of the oldest tutorials.
const (
	SetNXExpireName = "SETNX + EXPIRE"
	SetNXExpireFlaw = "two steps: a holder that dies in between locks for ever; and DEL gives back whoever's lock it is"
)

// SetNXExpire takes a key by SETNX, then gives it a lease by EXPIRE, and gives it back by DEL.
//
// Its flaws: a holder that dies between SETNX and EXPIRE leaves a key that never goes. The key's value says nothing, so a
// holder that is late deletes the next one's lock, and lets a third one in. And those of [SetPX].
type SetNXExpire struct {
	Redis redis.UniversalClient
	Key   string
	Lease time.Duration
	Poll  time.Duration // how often a waiter tries
}

// Lock implements [Lock].
func (l SetNXExpire) Lock(ctx context.Context) (Hold, error) { return again(ctx, l.Poll, l.TryLock) }

// TryLock implements [Lock].
func (l SetNXExpire) TryLock(ctx context.Context) (Hold, error) {
	taken, err := l.Redis.Do(ctx, "SETNX", l.Key, 1).Int()
	if err != nil {
		return nil, fmt.Errorf("take %s by SETNX: %w", l.Key, err)
	}
	if taken == 0 {
		return nil, ErrBusy
	}
	if err := l.Redis.PExpire(ctx, l.Key, l.Lease).Err(); err != nil {
		return nil, fmt.Errorf("give %s a lease: %w", l.Key, err)
	}
	return setNXHold{l}, nil
}

type setNXHold struct{ lock SetNXExpire }

// Unlock implements [Hold].
func (h setNXHold) Unlock(ctx context.Context) error {
	if err := h.lock.Redis.Del(ctx, h.lock.Key).Err(); err != nil {
		return fmt.Errorf("give %s back: %w", h.lock.Key, err)
	}
	return nil
}
