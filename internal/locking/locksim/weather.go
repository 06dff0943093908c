package locksim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Weather is how a network behaves until it clears up. The chances are of each request or message.
type Weather struct {
	Clears time.Duration // after the beginning; then there are only small delays

	Latency time.Duration // one way, at most
	Lost    float64       // a request does not arrive
	Mute    float64       // the answer does not arrive
	Stall   float64       // a request is held up for some time
	Cut     float64       // the connection is cut with the request under way
	Copies  float64       // what was not answered arrives again later
	Deaf    float64       // a wake-up is lost
	Doubled float64       // a wake-up comes again later, perhaps after the grant
	Late    float64       // a wake-up comes later
	Astray  float64       // a wake-up is about another lock, or for another waiter of the process
	Vanish  float64       // a key vanishes after a request
	Long    time.Duration // how long "later" is, at most

	// Wild lets copies of answered requests arrive as well, and after any time. No network does that to a
	// client that sends once: the lock may be held then by nobody for a lease.
	Wild bool
}

// climate is Weather with a beginning.
type climate struct {
	Weather
	clears time.Time
}

// delay is how long one way takes.
func (c *climate) delay(random *rand.Rand) time.Duration {
	return time.Microsecond + time.Duration(random.Int64N(int64(max(c.Latency, 2*time.Microsecond))))
}

// long is how long something takes that is held up.
func (c *climate) long(random *rand.Rand) time.Duration {
	return time.Millisecond + time.Duration(random.Int64N(int64(max(c.Long, time.Millisecond))))
}

// fate decides what becomes of a request.
func (c *climate) fate(random *rand.Rand, q *Request, now time.Time) Fate {
	f := Fate{Delay: c.delay(random), Reply: c.delay(random)}
	if !now.Before(c.clears) {
		return f
	}
	chance := func(p float64) bool { return random.Float64() < p }
	switch {
	case chance(c.Lost):
		f.Lost = true
		f.CutAfter = c.cut(random)
	case chance(c.Mute):
		f.Mute = true
		f.CutAfter = c.cut(random)
	case chance(c.Stall):
		f.Delay = c.long(random)
	case chance(c.Cut):
		f.Delay = c.long(random)
		f.Mute = true
		f.CutAfter = c.delay(random)
	}
	if q.runsScript() && (c.Wild || f.Lost || f.Mute) {
		for chance(c.Copies) && len(f.Copies) < 3 {
			f.Copies = append(f.Copies, c.long(random))
		}
	}
	return f
}

// cut is when a client hears that its connection is broken: mostly soon, sometimes never.
func (c *climate) cut(random *rand.Rand) time.Duration {
	switch random.IntN(4) {
	case 0:
		return 0
	case 1:
		return c.long(random)
	default:
		return c.delay(random)
	}
}

// lies tells whether wake-ups are not what they should be.
func (c *climate) lies() bool { return c.Deaf+c.Doubled+c.Late+c.Astray > 0 }

// Fault is something that happens to a server or to a process as a whole.
type Fault func(w *World, s *server)

// At has a fault happen some time from now; to the first server, where it is a server's.
func (w *World) At(after time.Duration, f Fault) { w.AtNode(0, after, f) }

// AtNode has a fault happen to one of several servers.
func (w *World) AtNode(i int, after time.Duration, f Fault) {
	w.agenda.at(time.Now().Add(after), 0, func() { f(w, w.servers[i]) })
}

// Pause makes a server serve nobody for a while, and then all at once.
func Pause(d time.Duration) Fault {
	return func(w *World, s *server) {
		w.note("%s stands still for %s", s, d)
		w.unsure()
		s.pausedUntil = later(s.pausedUntil, time.Now().Add(d))
	}
}

// unsure notes that something may have happened to anybody's request.
func (w *World) unsure() {
	for _, c := range w.clients {
		c.unsure()
	}
}

// Hold makes a process stand still for a while, as far as others can see: nothing goes out, nothing comes
// in, and then all does. Its own timers go on, as they would when only its network stood still.
func Hold(c *Client, d time.Duration) Fault {
	return func(w *World, _ *server) {
		w.note("%s stands still for %s", c, d)
		c.unsure()
		c.heldUntil = later(c.heldUntil, time.Now().Add(d))
	}
}

// Part lets nothing pass between a process and a server for a while, and then all of it.
func Part(c *Client, d time.Duration) Fault {
	return func(w *World, s *server) {
		w.note("%s and %s are parted for %s", c, s, d)
		c.unsure()
		c.parted[s] = later(c.parted[s], time.Now().Add(d))
	}
}

// afterlife is how long the work of a process that was killed goes on, of which nobody sees anything.
const afterlife = 2 * time.Second

// Kill severs a process for ever, and tells nobody: the servers still count its connections. Bytes on
// their way arrive.
func Kill(c *Client) Fault {
	return func(w *World, _ *server) {
		w.note("%s dies", c)
		c.severed = true
		c.unsure()
		w.At(afterlife, func(*World, *server) { c.stop() })
		for _, l := range w.linksOf(c) {
			l.seal()
		}
	}
}

// Cut breaks all connections of a process.
func Cut(c *Client) Fault {
	return func(w *World, _ *server) {
		c.unsure()
		for _, l := range w.linksOf(c) {
			l.hangUp()
		}
	}
}

// Restart stops a server and starts it again after a while. It has forgotten its scripts, and with
// memory false everything.
func Restart(d time.Duration, memory bool) Fault {
	return func(w *World, s *server) {
		w.note("%s stops for %s, memory %v", s, d, memory)
		w.unsure()
		s.down = true
		w.forgetScripts(s)
		if !memory {
			w.flush(s)
		}
		w.mu.Lock()
		all := slices.Clone(w.all)
		w.mu.Unlock()
		for _, l := range all {
			if l.server == s {
				l.reset()
			}
		}
		w.AtNode(s.id, d, func(w *World, s *server) {
			w.note("%s is up", s)
			s.down = false
		})
	}
}

// Flush makes a server forget all keys.
func Flush(w *World, s *server) {
	w.note("%s forgets all keys", s)
	w.flush(s)
}

func (w *World) flush(s *server) {
	w.checker.amnesia(s)
	s.redis.FlushAll()
}

// ForgetScripts makes a server forget all scripts.
func ForgetScripts(w *World, s *server) {
	w.note("%s forgets its scripts", s)
	w.forgetScripts(s)
}

func (w *World) forgetScripts(s *server) {
	l, err := w.connect(w.clients[0], s)
	if err != nil {
		w.T.Errorf("%s: %v", w.Name, err)
		return
	}
	_, _ = l.conn.Write([]byte("*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n"))
	_ = l.conn.Close()
}

// slack is how far a clock may be set forward in all without a hold noticing, which ends 2 ms before its lease.
const slack = time.Millisecond

// Step sets a server's clock forward or back.
func Step(d time.Duration) Fault {
	return func(w *World, s *server) {
		w.note("the clock of %s is set by %s", s, d)
		if s.ahead += max(d, 0); s.ahead > slack {
			w.checker.amnesia(s) // leases run out early
		}
		s.step(d)
		w.checker.steps(d)
	}
}

// steps notes that a server's clock was set.
func (b *checker) steps(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stepped += max(-d, 0)
}

// Deaf lets no message reach a process for a while, on whatever connection it listens.
func Deaf(c *Client, d time.Duration) Fault {
	return func(w *World, _ *server) {
		w.note("%s is deaf for %s", c, d)
		c.deafUntil = later(c.deafUntil, time.Now().Add(d))
	}
}

// Refuse takes the right to subscribe from a process for a while, and cuts its connections.
func Refuse(c *Client, d time.Duration) Fault {
	return func(w *World, s *server) {
		w.note("%s may not subscribe for %s", c, d)
		c.mayListen = later(c.mayListen, time.Now().Add(d))
		Cut(c)(w, s)
	}
}

func (w *World) linksOf(c *Client) []*link {
	w.mu.Lock()
	defer w.mu.Unlock()
	var mine []*link
	for _, l := range w.all {
		if l.client == c {
			mine = append(mine, l)
		}
	}
	return mine
}
