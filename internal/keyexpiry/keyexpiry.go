// Package keyexpiry lets the keys of a miniredis expire by the clock of this machine.
//
// miniredis can do that by itself (ClockTTL), but not as Redis does: in Redis the time stands still while a script runs.
// With ClockTTL a lock can expire between two commands of one script. The keys that the script then writes have no expiry, and
// a lock without an owner stays busy for ever. ClockTTL also goes through all keys at every access to any of them, which
// was more than half of the processor time of a service with a thousand locks.
package keyexpiry

import (
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

const (
	// Tick is how often keys grow older.
	Tick = 10 * time.Millisecond

	// Early is how much too early a key expires at worst: a tick takes the time since the last tick from all keys, also
	// from a key that was set a moment ago. When a busy machine holds up a tick for longer, keys expire late instead.
	Early = 4 * Tick
)

// Start lets the keys of a server grow older between its commands and scripts, until stop. stop returns when the goroutine
// has ended.
func Start(server *miniredis.Miniredis) (stop func()) {
	quit := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(Tick)
		defer ticker.Stop()
		for last := time.Now(); ; {
			select {
			case <-quit:
				return
			case now := <-ticker.C:
				server.FastForward(min(now.Sub(last), Early))
				last = now
			}
		}
	})
	return func() {
		close(quit)
		running.Wait()
	}
}
