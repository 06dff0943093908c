package selling

import (
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
)

// batches plays writes of one unit each, from a segment that holds 100 at first, and that other processes change only
// as given.
type batches struct {
	contention
	left int64
}

// write plays a write that took a millisecond: others have taken some units before it, and some orders wait after it.
func (b *batches) write(others int64, waiting int) {
	start := time.Now()
	time.Sleep(time.Millisecond)
	b.left -= others + 1
	b.note(0, start, stock.BatchResult{Available: b.left}, 1, waiting)
}

// several plays a write of several orders.
func (b *batches) several(orders int) {
	b.left -= int64(orders)
	b.note(0, time.Now(), stock.BatchResult{Available: b.left, Outcomes: make([]stock.Outcome, orders)}, int64(orders), 0)
}

// TestWhenALockSavesWaiting plays the rule in virtual time.
func TestWhenALockSavesWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		play func(b *batches)
		want bool
	}{
		"nothing was written":       {func(*batches) {}, false},
		"always":                    {func(b *batches) { b.always = true }, true},
		"one buyer at a time":       {func(b *batches) { b.write(0, 0); b.write(0, 0); b.write(0, 0); b.write(0, 0) }, false},
		"orders wait":               {func(b *batches) { b.write(0, 1); b.write(0, 5); b.write(0, 1) }, true},
		"batches of several orders": {func(b *batches) { b.several(2); b.several(9); b.several(2) }, true},
		"now and then":              {func(b *batches) { b.several(2); b.several(9); time.Sleep(2 * lockLinger); b.several(2) }, false},
		"orders waited":             {func(b *batches) { b.write(0, 1); b.write(0, 5); b.write(0, 1); time.Sleep(2 * lockLinger) }, false},
		"not yet":                   {func(b *batches) { b.write(0, 1); b.write(0, 1) }, false},
		"not any more":              {func(b *batches) { b.write(0, 1); b.write(0, 5); b.write(0, 1); b.write(0, 0) }, false},
		"another sells":             {func(b *batches) { b.write(0, 0); b.write(1, 0) }, true},
		"another restocks":          {func(b *batches) { b.write(0, 0); b.write(-7, 0) }, true},
		"another sold before":       {func(b *batches) { b.write(5, 0) }, false},
		"another sold long ago": {func(b *batches) {
			b.write(0, 0)
			time.Sleep(metWithin)
			b.write(5, 0)
		}, false},
		"this process has changed it": {func(b *batches) { b.write(0, 0); b.forget(); b.write(5, 0) }, false},
		"another segment": {func(b *batches) {
			b.write(0, 0)
			b.note(1, time.Now(), stock.BatchResult{Available: 3}, 1, 0)
		}, false},
		"somebody had the row": {func(b *batches) {
			b.note(0, time.Now(), stock.BatchResult{Available: 3, Skipped: true}, 1, 0)
		}, true},
		"in a while": {func(b *batches) { b.write(0, 0); b.write(1, 0); time.Sleep(metFor - time.Millisecond) }, true},
		"after that": {func(b *batches) { b.write(0, 0); b.write(1, 0); time.Sleep(metFor) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &batches{left: 100}
				if c.play(b); b.locks() != c.want {
					t.Errorf("locks: %t, want %t", b.locks(), c.want)
				}
			})
		})
	}
}
