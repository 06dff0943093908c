// Package keyexpiry lets the keys of a miniredis expire by the clock of this machine.
//
// miniredis can do that by itself (ClockTTL), but not as Redis does: there the time stands still while a script runs.
// With ClockTTL a lock can expire between two commands of one script. What the script then writes has no expiry, and
// a lock that nobody holds stays busy for ever. It also goes through all keys at every access to any of them, which
// was more than half of the processor time of a service with a thousand locks.
package keyexpiry

import (
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Tick is how late a key may expire. It makes a lease that much longer.
const Tick = 10 * time.Millisecond

// Start lets the keys of a server grow older between its commands and scripts, until stop, which returns when that has
// ended.
func Start(server *miniredis.Miniredis) (stop func()) {
	quit := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { run(server, quit) })
	return func() {
		close(quit)
		running.Wait()
	}
}

func run(server *miniredis.Miniredis, quit <-chan struct{}) {
	ticker := time.NewTicker(Tick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-quit:
			return
		case now := <-ticker.C:
			server.FastForward(now.Sub(last))
			last = now
		}
	}
}
