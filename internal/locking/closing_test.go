package locking

import (
	"errors"
	"testing"
	"time"
)

// A MultiLock has a part at one server and waits for another at a second one. If the Locks of the first are closed, they
// send nothing more for it, and its wait ends.
func TestCloseEndsTheWaitOfAMultiLock(t *testing.T) {
	virtual(t, func(w *world) {
		const lease = time.Second
		ctx := w.ctx()
		l, tap := w.tapped()
		second := &world{t: w.t, memory: newMemory(w.t, near)}
		busy := w.must(second.locks().Mutex(w.name).Lock(ctx))
		failed := make(chan error, 1)
		go func() {
			_, err := MultiLock(l.FairMutex(w.name), second.locks().Mutex(w.name)).Lock(ctx, Lease(lease)) // in this order
			failed <- err
		}()
		time.Sleep(lease)
		w.ok(l.Close())
		sent := tap.trips()
		time.Sleep(lease)
		if more := tap.trips() - sent; more > 0 {
			w.t.Errorf("%d round trips after Close", more)
		}
		w.ok(busy.Unlock(ctx))
		if err := <-failed; !errors.Is(err, ErrClosed) {
			w.t.Errorf("the MultiLock: got %v, want ErrClosed", err)
		}
	})
}
