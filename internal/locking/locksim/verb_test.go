package locksim_test

import (
	"slices"
	"sync"
	"testing"

	"inventory/internal/locking"
	"inventory/internal/locking/locksim"
)

// A request has the name of the script that it runs, whichever script that is.
func TestRequestsAreNamed(t *testing.T) {
	scripted(t, func(t *testing.T, w *locksim.World) {
		var mu sync.Mutex
		var verbs []string
		w.On(func(q *locksim.Request, _ *locksim.Fate) {
			mu.Lock()
			defer mu.Unlock()
			verbs = append(verbs, q.Verb)
		})
		c := once(w)
		ctx := c.Actor().Ctx
		mutex, fair := c.Locks.Mutex("a"), c.Locks.FairMutex("a")
		for _, lock := range []locking.Locker{mutex, fair} {
			hold, err := lock.Lock(ctx)
			ok(t, err)
			_, err = hold.TokenAbove(ctx, hold.Token())
			ok(t, err)
			ok(t, hold.Unlock(ctx))
		}
		_, err := mutex.Inspect(ctx)
		ok(t, err)
		_, err = fair.ForceUnlock(ctx)
		ok(t, err)
		mu.Lock()
		defer mu.Unlock()
		for _, verb := range []string{"acquire", "token", "release", "inspect", "fifo_acquire", "fifo_token", "fifo_release", "fifo_force"} {
			if !slices.Contains(verbs, verb) {
				t.Errorf("nothing is named %s: %q", verb, verbs)
			}
		}
	})
}
