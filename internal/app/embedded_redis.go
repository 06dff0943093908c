package app

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embeddedRedis is a Redis inside the process, whose keys expire by the clock.
//
// miniredis can do that by itself (ClockTTL), but then it goes through all keys at every access to any of them:
// with the clocks of a thousand buckets that was more than half of a replay's CPU. One tick does it for all.
type embeddedRedis struct {
	server *miniredis.Miniredis
	stop   chan struct{}
	ticks  sync.WaitGroup
}

// expiryTick is how late a key may expire, which makes a lease that much longer.
const expiryTick = 10 * time.Millisecond

func startEmbeddedRedis() (*embeddedRedis, error) {
	r := &embeddedRedis{server: miniredis.NewMiniRedis(), stop: make(chan struct{})}
	if err := r.server.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	r.ticks.Go(r.tick)
	return r, nil
}

// tick lets keys grow older until close.
func (r *embeddedRedis) tick() {
	ticker := time.NewTicker(expiryTick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-r.stop:
			return
		case now := <-ticker.C:
			r.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

func (r *embeddedRedis) close() {
	close(r.stop)
	r.ticks.Wait()
	r.server.Close()
}
