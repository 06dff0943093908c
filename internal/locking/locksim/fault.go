package locksim

import (
	"slices"
	"time"
)

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

// Kill severs a process for ever, and tells nobody: the servers still count its connections. What is on
// its way arrives.
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

// Deafen drops wake-ups from now on, or no longer.
func Deafen(drop bool) Fault {
	return func(w *World, _ *server) { w.dropMessages = drop }
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
