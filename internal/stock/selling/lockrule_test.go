package selling

import (
	"testing"
	"time"

	"inventory/internal/busytest"
)

// batches plays writes.
type batches struct{ lockRule }

// write plays a write of orders that took a millisecond, at whose end some wait.
func (b *batches) write(orders, waiting int) {
	ready := time.Now()
	time.Sleep(time.Millisecond)
	b.note(ready, orders, waiting)
}

// TestALockIsTakenWhileOrdersQueue plays the rule in virtual time.
func TestALockIsTakenWhileOrdersQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		play func(b *batches)
		want bool
	}{
		"nothing was written":       {func(*batches) {}, false},
		"always":                    {func(b *batches) { b.always = true }, true},
		"one buyer at a time":       {func(b *batches) { b.write(1, 0); b.write(1, 0); b.write(1, 0); b.write(1, 0) }, false},
		"orders wait":               {func(b *batches) { b.write(1, 1); b.write(1, 5); b.write(1, 1) }, true},
		"batches of several orders": {func(b *batches) { b.write(2, 0); b.write(9, 0); b.write(2, 0) }, true},
		"now and then":              {func(b *batches) { b.write(2, 0); b.write(9, 0); time.Sleep(2 * lockLinger); b.write(2, 0) }, false},
		"orders waited":             {func(b *batches) { b.write(1, 1); b.write(1, 5); b.write(1, 1); time.Sleep(2 * lockLinger) }, false},
		"not yet":                   {func(b *batches) { b.write(1, 1); b.write(1, 1) }, false},
		"not any more":              {func(b *batches) { b.write(1, 1); b.write(1, 5); b.write(1, 1); b.write(1, 0) }, false},
		"after a wait for the lock": {func(b *batches) {
			b.write(1, 1)
			b.write(1, 1)
			ready := time.Now()
			time.Sleep(10 * lockLinger)
			b.note(ready, 1, 1)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				b := &batches{}
				if c.play(b); b.locks() != c.want {
					t.Errorf("locks: %t, want %t", b.locks(), c.want)
				}
			})
		})
	}
}
