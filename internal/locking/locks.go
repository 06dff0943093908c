package locking

import (
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/cleaner"
	"inventory/internal/locking/internal/heartbeat"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/subscription"
)

// Locks is one process's way to the locks on one Redis: its identity, its watchdog, its subscription and
// its lock states. Make one per server and process, and share it. It is safe for concurrent use.
type Locks struct {
	server   *server.Server
	process  string        // names this process in the states, queues and channels
	lease    time.Duration // of holds that the watchdog renews
	observer Observer
	address  string       // of the server, for the order of locks that all processes share
	numbers  atomic.Int64 // number of the last attempt
	releases atomic.Int64 // how many are under way

	cleaner      *cleaner.Cleaner
	subscription *subscription.Subscription
	subscribed   sync.Once // it begins with the first wait
	heartbeat    *heartbeat.Heartbeat

	hurry   chan struct{}  // with room for one: the watchdog is to renew at once
	closing chan struct{}  // closed: waiting ends
	stop    chan struct{}  // closed: the loops end
	calls   sync.WaitGroup // of Lock, TryLock and Unlock
	loops   sync.WaitGroup // the watchdog, the cleaner, the heartbeat, the subscription

	mu     sync.Mutex
	closed bool
	registry
}

// enter begins a call that Close waits for; it ends with l.calls.Done.
func (l *Locks) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.calls.Add(1)
	return nil
}

// attempt returns a new attempt. Its number is above those of all attempts before it.
func (l *Locks) attempt() *scripts.Attempt { return &scripts.Attempt{Number: l.numbers.Add(1)} }
