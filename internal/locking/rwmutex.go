package locking

import (
	"context"

	"inventory/internal/locking/internal/keys"
)

// An RWMutex is held by one writer or by any number of readers. Both wait in one queue, first come, first
// served as in a FairMutex: a reader waits behind a writer that came earlier, and readers at the
// head together enter together.
//
// Both sides are reentrant and count separately. A writer may take the reading side as well. When it then unlocks
// the writing side first, it has become a reader, and others who wait to read enter. Take the reading side under any
// context that carries the writer's owner: the writer's hold.Context(), one made from it, or that of a MultiLock with
// the writer among its parts. It goes on when the writer is unlocked. A reader cannot become a writer, and gets
// ErrUpgrade: two that tried would wait for each other.
//
// Each reader has its own lease. One that crashes, unlocks or is renewed does not touch those of the others. All who
// read at the same time have the same token, which is above that of the last writer and below that of the next. A guard
// may check it, but must not be raised by it.
type RWMutex struct{ writer, reader *fifo }

// RWMutex returns the read-write lock of a name, which may be any bytes but none.
func (l *Locks) RWMutex(name string, opts ...MutexOption) *RWMutex {
	return &RWMutex{
		writer: l.fifoAt(KindWrite, keys.ReadWrite, name, opts),
		reader: l.fifoAt(KindRead, keys.ReadWrite, name, opts),
	}
}

// Inspect asks the server who holds either side of the lock and how many wait.
func (m *RWMutex) Inspect(ctx context.Context) (State, error) { return m.writer.Inspect(ctx) }

// Name returns the name that the lock was made with.
func (m *RWMutex) Name() string { return m.writer.name }

// Reader returns the side that many can hold.
func (m *RWMutex) Reader() *RWSide { return &RWSide{m.reader} }

// Writer returns the side that one can hold.
func (m *RWMutex) Writer() *RWSide { return &RWSide{m.writer} }

// An RWSide is the reading or the writing side of an RWMutex.
type RWSide struct{ *fifo }
