package locking

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// mostAllocations is how much a cycle of a lone caller may allocate, with the client.
const mostAllocations = 45

// Lock and Unlock of a lock that nobody else wants allocate little, with a client that keeps deadlines, as the service's does.
func TestLoneCycleAllocatesLittle(t *testing.T) {
	w := &world{t: t, addr: shared, name: t.Name()}
	m := w.locksOn(w.client(func(o *redis.Options) { o.ContextTimeoutEnabled = true })).Mutex(w.name)
	ctx := w.ctx()
	cycle := func() { w.ok(w.must(m.Lock(ctx)).Unlock(ctx)) }
	fewest := testing.AllocsPerRun(1, cycle) // it connects
	for range 200 {                          // under the race detector a sync.Pool forgets at random
		fewest = min(fewest, testing.AllocsPerRun(1, cycle))
	}
	if fewest > mostAllocations+watched {
		t.Errorf("a cycle allocates %.0f times, want %d at most", fewest, mostAllocations)
	}
}
