package locksim

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// A life is what one owner does in a random history.
type life struct {
	*Actor
	play   *Play
	random *rand.Rand
}

// below is a random time below a number of milliseconds, to the nanosecond, so that hardly two things
// happen at one moment.
func (l *life) below(milliseconds int64) time.Duration {
	return time.Duration(1 + l.random.Int64N(milliseconds*int64(time.Millisecond)))
}

func (l *life) run() {
	for range 1 + l.random.IntN(4) {
		time.Sleep(l.below([]int64{3, 30, 300}[l.random.IntN(3)]))
		if l.play.forces && l.random.IntN(4) == 0 {
			l.Force(l.Ctx, l.acquisition().Names[0])
		} else {
			l.deed()
		}
	}
}

// acquisition chooses what to ask for.
func (l *life) acquisition() Acquisition {
	v := Acquisition{Names: []string{l.play.names[l.random.IntN(len(l.play.names))]}}
	if l.random.IntN(5) == 0 {
		v.Names = slices.Clone(l.play.names)
		l.random.Shuffle(len(v.Names), func(i, j int) { v.Names[i], v.Names[j] = v.Names[j], v.Names[i] })
	}
	for i, name := range v.Names {
		if bare, found := strings.CutPrefix(name, writes); found && l.random.IntN(3) > 0 {
			v.Names[i] = reads + bare
		}
	}
	v.Try = l.random.IntN(5) == 0
	if l.random.IntN(4) == 0 {
		v.Wait = l.below(400)
	}
	if l.random.IntN(3) == 0 {
		v.Lease = l.play.fast + l.below(500)
	}
	return v
}

// deed takes a lock, works under it, and gives it back.
func (l *life) deed() {
	ctx, cancel := context.WithCancel(l.Ctx)
	defer cancel()
	switch l.random.IntN(8) {
	case 0: // gives up
		timer := time.AfterFunc(l.below(300), cancel)
		defer timer.Stop()
	case 1:
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, l.below(500))
		defer stop()
	}
	grip, err := l.Lock(ctx, l.acquisition())
	if err != nil {
		return
	}
	l.work(grip)
	l.giveBack(grip)
}

// work does something under a hold.
func (l *life) work(grip *Grip) {
	grip.Write()
	switch l.random.IntN(5) {
	case 0:
		l.nest(grip, 1)
	case 1:
		l.nest(grip, 2+l.random.IntN(2))
	case 2:
		l.widen(grip)
	case 3:
		l.raise(grip)
	}
	time.Sleep(l.below([]int64{2, 20, 20, l.play.stay.Milliseconds()}[l.random.IntN(4)]))
	if l.random.IntN(3) > 0 && grip.Hold.Context().Err() != nil {
		return // it looks before it writes; others do not
	}
	grip.Write()
}

// nest takes locks again that the owner has, several times in parallel.
func (l *life) nest(outer *Grip, times int) {
	var all sync.WaitGroup
	for range times {
		ctx := outer.Hold.Context()
		if l.random.IntN(2) == 0 {
			ctx = l.Ctx // the same owner; it does not end with the outer hold
		}
		v := Acquisition{Names: []string{outer.grips[0].name}, Wait: l.below(400), Try: l.random.IntN(3) == 0}
		if l.random.IntN(3) == 0 {
			v.Lease = l.play.fast + l.below(300)
		}
		before, after, back := l.below(5), l.below(20), l.random.IntN(10) > 0
		all.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel() // else a hold that is forgotten is renewed for ever
			time.Sleep(before)
			inner, err := l.Lock(ctx, v)
			if err != nil {
				return
			}
			inner.Write()
			time.Sleep(after)
			if back {
				_ = inner.Unlock(context.Background()) // its outcome is checked where it is noted
			}
		})
	}
	all.Wait()
}

// raise asks for a higher token, sometimes for one ahead of the server's time. Then only the server's memory keeps
// tokens growing, and of a RedLock that of a smaller quorum than had granted it.
func (l *life) raise(grip *Grip) {
	above := []int64{-1, 0, 1, 1000, 10_000_000}[l.random.IntN(5)]
	if len(grip.grips) > 1 || l.play.forgets && (above > 0 || isRed(grip.grips[0].name)) {
		return
	}
	grip.Raise(l.Ctx, grip.Hold.Token()+above)
}

// widen takes all locks while the owner has some. What would be waiting backwards is refused, so nobody
// waits in a circle.
func (l *life) widen(outer *Grip) {
	if len(l.play.names) == 1 {
		return
	}
	all, err := l.Lock(outer.Hold.Context(), Acquisition{Names: l.play.names})
	if err != nil {
		return
	}
	all.Write()
	time.Sleep(l.below(10))
	_ = all.Unlock(context.Background()) // its outcome is checked where it is noted
}

// giveBack ends a hold in one way or another.
func (l *life) giveBack(grip *Grip) {
	switch l.random.IntN(12) {
	case 0: // forgets it: the end of its context ends its renewals
	case 1:
		var both sync.WaitGroup
		both.Go(func() { _ = grip.Unlock(context.Background()) })
		both.Go(func() { _ = grip.Unlock(context.Background()) })
		both.Wait()
	case 2:
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = grip.Unlock(ctx)
		_ = grip.Unlock(ctx)
	default:
		_ = grip.Unlock(context.Background())
	}
}
