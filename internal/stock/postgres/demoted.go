package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
)

// SQLSTATEs of a server that takes no writes, or that ends its sessions: shutdown, crash, and a start or an end that is under way.
const (
	readOnlyTransaction = "25006"
	adminShutdown       = "57P01"
	crashShutdown       = "57P02"
	cannotConnectNow    = "57P03"
)

// errDemoted says that a server that took writes takes none any more.
var errDemoted = fmt.Errorf("%w: the server is not the primary any more", stock.ErrNotWritable)

// resetEvery is how often all connections are closed at most, as long as new ones lead to a server that takes no writes, too.
const resetEvery = 500 * time.Millisecond

// demotion finds out that the server is not the primary any more. Clouds make another server the primary while connections to the old
// one live on. It answers, but what it says is old, and it takes no writes:
//
//	a write is refused (25006), or a read sees that the server takes no writes ──> all connections are closed, those of listeners,
//	too ──> new ones lead to the primary
//
// A database that took no writes from the beginning on was not demoted: it can be read.
type demotion struct {
	primary atomic.Bool // a server of this database took writes
	close   func()      // closes all connections of the pool

	mu        sync.Mutex
	closed    time.Time
	listeners map[*context.CancelCauseFunc]struct{}
}

// wrote notes that a server takes writes.
func (d *demotion) wrote() {
	if !d.primary.Load() {
		d.primary.Store(true)
	}
}

// read judges a server by what it says of itself beside what was read.
func (d *demotion) read(takesNoWrites bool) error {
	switch {
	case !takesNoWrites:
		d.wrote()
		return nil
	case !d.primary.Load():
		return nil
	default:
		d.reset()
		return errDemoted
	}
}

// failed judges a server by the error of a message.
func (d *demotion) failed(err error) {
	state := StateOf(err)
	if d.primary.Load() && slices.Contains([]string{readOnlyTransaction, adminShutdown, crashShutdown, cannotConnectNow}, state) {
		d.reset()
	}
}

// reset closes all connections. Those in use are closed when they are given back.
func (d *demotion) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.closed) < resetEvery {
		return
	}
	d.closed = time.Now()
	d.close()
	for listener := range d.listeners {
		(*listener)(errDemoted)
	}
}

// listening returns a context that ends when connections are closed.
func (d *demotion) listening(ctx context.Context) (listening context.Context, over func()) {
	listening, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listeners[&cancel] = struct{}{}
	return listening, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.listeners, &cancel)
		cancel(nil)
	}
}
