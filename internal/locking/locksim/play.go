package locksim

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Play is a random history: its weather, its faults, its processes and what their owners do all follow
// from the seed.
type Play struct {
	world  *World
	random *rand.Rand
	names  []string
	fast   time.Duration // the shortest lease
	stay   time.Duration // how long a hold is at work, at most
	crowd  int           // how many processes there may be; and how many owners each may have, less one
	calm   bool
	forces bool // now and then somebody frees a lock by force

	forgets bool // a server may forget, or keys of it vanish: then no clock is set back, for only keys or the time keep tokens growing
	evicts  bool // keys vanish

	every []*Actor
}

// Random plays the history of a seed to its end and checks it. It must be called inside a bubble.
func Random(t *testing.T, seed uint64) *World {
	p := newPlay(seed)
	p.fast, p.crowd = p.span(60, 250), 4
	p.stay = 4 * p.fast
	weather := p.sky()
	p.world = New(t, seed, weather, p.drift())
	p.names = p.someNames()
	p.run()
	return p.world
}

func newPlay(seed uint64) *Play {
	random := rand.New(rand.NewPCG(seed, 1))
	p := &Play{random: random, calm: random.IntN(4) == 0, forces: random.IntN(3) == 0, evicts: random.IntN(3) == 0}
	p.forgets = !p.calm && random.IntN(3) == 0
	return p
}

// sky chooses the weather.
func (p *Play) sky() Weather {
	// Tombstones stand for two leases from the time of the cancellation.
	weather := Weather{Clears: p.span(800, 2500), Latency: p.pick(300, 1000, 5000), Long: p.fast * 3 / 2}
	if p.random.IntN(2) == 0 {
		p.lie(&weather)
	}
	if p.evicts {
		weather.Vanish = 0.1 * p.random.Float64()
	}
	if p.calm {
		return weather
	}
	return p.storm(weather)
}

// lie chooses what is wrong with wake-ups.
func (p *Play) lie(w *Weather) {
	for _, chance := range []*float64{&w.Deaf, &w.Doubled, &w.Late, &w.Astray} {
		if p.random.IntN(2) == 0 {
			*chance = 0.5 * p.random.Float64()
		}
	}
}

// drift chooses how wrong a server's clock goes: less than a hundredth, which holds allow for.
func (p *Play) drift() float64 {
	if p.calm {
		return 0
	}
	return []float64{0, 0, -0.009, 0.009}[p.random.IntN(4)]
}

// run plays the history in the world that was made for it.
func (p *Play) run() {
	p.world.Peaceful = p.calm
	p.people()
	if !p.calm {
		p.world.Miscounts = p.random.IntN(8) == 0
		p.faults()
	}
	p.act()
	p.world.End()
}

// someNames chooses the locks of a history: Mutexes mostly, or one kind, or several.
func (p *Play) someNames() []string {
	all := [][]string{{"a", "ab", "b"}, {"a", "ab", "b"}, {fair + "a", fair + "ab", fair + "b"}, {writes + "a", writes + "ab", writes + "b"}, {"a", fair + "a", writes + "a"}}
	return all[p.random.IntN(len(all))][:1+p.random.IntN(3)]
}

// span is a random time between two numbers of milliseconds, to the nanosecond.
func (p *Play) span(low, high int64) time.Duration {
	return time.Duration(low)*time.Millisecond + time.Duration(p.random.Int64N((high-low)*int64(time.Millisecond)))
}

// pick is one of some numbers of microseconds.
func (p *Play) pick(microseconds ...int64) time.Duration {
	return time.Duration(microseconds[p.random.IntN(len(microseconds))]) * time.Microsecond
}

// storm chooses some kinds of trouble; all at once would hide each other.
func (p *Play) storm(w Weather) Weather {
	for _, chance := range []*float64{&w.Lost, &w.Mute, &w.Stall, &w.Cut} {
		if p.random.IntN(2) == 0 {
			*chance = 0.25 * p.random.Float64()
		}
	}
	if p.random.IntN(2) == 0 {
		w.Copies = 0.7
	}
	if p.random.IntN(10) == 0 {
		w.Wild, w.Long = true, 5*p.fast
	}
	return w
}

// people makes the processes and their owners.
func (p *Play) people() {
	for range 2 + p.random.IntN(p.crowd-1) {
		habit := Habit{
			Lease:     p.span(p.fast.Milliseconds(), 4*p.fast.Milliseconds()),
			Retries:   []int{-1, 0, 0}[p.random.IntN(3)],
			Timeout:   []time.Duration{0, 150 * time.Millisecond, 500 * time.Millisecond}[p.random.IntN(3)],
			Deadlines: p.random.IntN(2) == 0,
			Protocol:  2 + p.random.IntN(2),
		}
		c := p.world.Client(habit)
		for range 1 + p.random.IntN(p.crowd-1) {
			p.every = append(p.every, c.Actor())
		}
	}
}

// faults chooses what happens to servers, to processes and to the ways between them. A fault that stands there twice is twice as
// likely. Where there are several servers, one that forgets is no excuse by itself: the locks say how many they bear.
func (p *Play) faults() {
	w := p.world
	several := len(w.servers) > 1
	for range p.random.IntN(5) {
		who := w.clients[p.random.IntN(len(w.clients))]
		short, long, back := p.span(1, 300), p.span(5, 4*p.fast.Milliseconds()), p.span(1, 100000)
		faults := []Fault{
			Pause(long), Pause(long), Hold(who, long), Hold(who, long), Kill(who), Cut(who), ForgetScripts,
			Restart(short, true), Restart(short, !p.forgets),
		}
		if several {
			faults = append(faults, Part(who, long), Part(who, long), Step(time.Duration(p.random.Int64N(int64(slack/4)))))
		} else {
			for range 2 {
				faults = append(faults, Deaf(who, p.span(1, 20000)))
			}
			faults = append(faults, Refuse(who, p.span(1, 20000)), Step(p.span(1, 100000)))
		}
		if p.forgets {
			faults = append(faults, Flush)
		} else if !p.evicts && (several || !p.reads()) {
			faults = append(faults, Step(-back))
		}
		w.AtNode(p.random.IntN(len(w.servers)), p.span(1, w.weather.Clears.Milliseconds()), faults[p.random.IntN(len(faults))])
	}
}

// reads tells whether there are readers. Their expiries are moments of the server's clock, as all are on a
// real Redis, and those of the keys that they are kept in are times on miniredis: set back, the two differ.
func (p *Play) reads() bool {
	return slices.ContainsFunc(p.names, func(name string) bool { return strings.HasPrefix(name, writes) })
}

// act lets every owner do its deeds, and waits until all is done.
func (p *Play) act() {
	var all sync.WaitGroup
	goroutines := []int{1, 1, 3}[p.random.IntN(3)] // that share an owner, at most
	for _, a := range p.every {
		for range 1 + p.random.IntN(goroutines) {
			life := &life{Actor: a, play: p, random: rand.New(rand.NewPCG(p.random.Uint64(), uint64(a.id)))}
			all.Go(life.run)
		}
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	limit := p.limit()
	select {
	case <-done:
		return
	case <-time.After(limit):
		p.world.checker.stuck(limit)
	}
	for _, c := range p.world.clients {
		c.closeLocks()
	}
	<-done
}

// limit is how long a history may last: the weather, then for every owner its own time and every lease
// that somebody else may have left behind.
func (p *Play) limit() time.Duration {
	return p.world.weather.Clears + settled + time.Duration(len(p.every))*10*time.Second
}

// RandomRed plays the history of a seed on several servers that RedLocks are on. Each server has a time of its own,
// and all that goes wrong does so for one of them, or between one of them and a process. It must be called inside
// a bubble.
func RandomRed(t *testing.T, seed uint64) *World {
	p := newPlay(seed)
	p.fast, p.crowd = p.span(100, 300), 3 // few, and for a short time, for they poll
	p.stay = 3 * p.fast / 2
	weather := p.sky()
	drifts := make([]float64, 3+2*p.random.IntN(2))
	for i := range drifts {
		drifts[i] = p.drift()
	}
	p.world = New(t, seed, weather, drifts...)
	for _, s := range p.world.servers {
		s.jump = p.span(0, 5000)
	}
	p.names = []string{red + "a", red + "b"}[:1+p.random.IntN(2)]
	p.run()
	return p.world
}

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
	if len(grip.grips) > 1 || (l.play.forgets || l.play.evicts) && (above > 0 || isRed(grip.grips[0].name)) {
		return
	}
	grip.Raise(l.Ctx, grip.Hold.Token()+above)
}

// widen takes all locks while the owner has some. A wait backwards is refused, so nobody
// waits in a circle.
func (l *life) widen(outer *Grip) {
	if len(l.play.names) == 1 {
		return
	}
	all, err := l.Lock(outer.Hold.Context(), Acquisition{Names: l.play.names})
	if err != nil {
		return
	}
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
