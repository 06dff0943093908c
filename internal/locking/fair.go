package locking

import "inventory/internal/locking/internal/keys"

// A FairMutex is a Mutex that is strictly first come, first served: waiters of all processes get the lock in the order
// in which they came to the server. Every waiter sends a heartbeat at least once a second. A waiter that dies is
// passed over after 3 s, and no other ever is: a free lock waits for the head of its queue. A FairMutex and a Mutex of the
// same name are different locks.
type FairMutex struct{ *fifo }

// FairMutex returns the first-come lock of a name, which may be any bytes but not empty.
func (l *Locks) FairMutex(name string, opts ...MutexOption) *FairMutex {
	return &FairMutex{l.fifoAt(KindFair, keys.Fair, name, opts)}
}
