package locksim

import (
	"slices"
	"time"
)

// Fault is something that happens to the server or to a process as a whole.
type Fault func(w *World)

// At has a fault happen some time from now.
func (w *World) At(after time.Duration, f Fault) {
	w.agenda.at(time.Now().Add(after), 0, func() { f(w) })
}

// Pause makes the server serve nobody for a while, and then all at once.
func Pause(d time.Duration) Fault {
	return func(w *World) {
		w.note("server stands still for %s", d)
		for _, c := range w.clients {
			c.unsure()
		}
		w.server.pausedUntil = later(w.server.pausedUntil, time.Now().Add(d))
	}
}

// Hold makes a process stand still for a while, as far as others can see: nothing goes out, nothing comes
// in, and then all does. Its own timers go on, as they would when only its network stood still.
func Hold(c *Client, d time.Duration) Fault {
	return func(w *World) {
		w.note("%s stands still for %s", c, d)
		c.unsure()
		c.heldUntil = later(c.heldUntil, time.Now().Add(d))
	}
}

// afterlife is how long the work of a process that was killed goes on, of which nobody sees anything.
const afterlife = 2 * time.Second

// Kill severs a process for ever, and tells nobody: the server still counts its connections. What is on
// its way arrives.
func Kill(c *Client) Fault {
	return func(w *World) {
		w.note("%s dies", c)
		c.severed = true
		c.unsure()
		w.At(afterlife, func(*World) { c.stop() })
		for _, l := range w.linksOf(c) {
			l.seal()
		}
	}
}

// Cut breaks all connections of a process.
func Cut(c *Client) Fault {
	return func(w *World) {
		for _, l := range w.linksOf(c) {
			l.hangUp()
		}
	}
}

// Restart stops the server and starts it again after a while. It has forgotten its scripts, and with
// memory false everything.
func Restart(d time.Duration, memory bool) Fault {
	return func(w *World) {
		w.note("server stops for %s, memory %v", d, memory)
		w.server.down = true
		w.forgetScripts()
		if !memory {
			w.flush()
		}
		w.mu.Lock()
		all := slices.Clone(w.all)
		w.mu.Unlock()
		for _, l := range all {
			l.reset()
		}
		w.At(d, func(w *World) {
			w.note("server is up")
			w.server.down = false
		})
	}
}

// Flush makes the server forget all keys.
func Flush(w *World) {
	w.note("server forgets all keys")
	w.flush()
}

func (w *World) flush() {
	w.book.amnesia()
	w.server.redis.FlushAll()
}

// ForgetScripts makes the server forget all scripts.
func ForgetScripts(w *World) {
	w.note("server forgets its scripts")
	w.forgetScripts()
}

func (w *World) forgetScripts() {
	l, err := w.connect(w.clients[0])
	if err != nil {
		w.T.Errorf("%s: %v", w.Name, err)
		return
	}
	_, _ = l.server.Write([]byte("*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n"))
	_ = l.server.Close()
}

// Step sets the server's clock forward or back.
func Step(d time.Duration) Fault {
	return func(w *World) {
		w.note("server's clock is set by %s", d)
		if d > 0 {
			w.book.amnesia() // leases run out early
		}
		w.server.step(d)
		w.book.steps(d)
	}
}

// steps notes that the server's clock was set.
func (b *book) steps(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stepped += max(-d, 0)
}

// Deafen drops wake-ups from now on, or no longer.
func Deafen(drop bool) Fault {
	return func(w *World) { w.dropMessages = drop }
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
