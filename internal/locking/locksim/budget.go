package locksim

import (
	"slices"
	"time"
)

// A budget is how many questions a process may ask a server. Each call and each wake-up earns some, and so does the time while calls
// wait.
type budget struct {
	left float64
	at   time.Time // until when the time has been counted
}

// The earnings of a process. Leases are short in here, and whoever waits asks again when one ends. A candidate of a RedLock that gets some
// servers and not enough also asks after pauses, of 50 ms at most.
const (
	perCall      = 10
	perSecond    = 20 // for each call that waits
	perSecondRed = 50
)

// questions are what waiters send.
var questions = []string{"acquire", "fifo_acquire", "fifo_heartbeat"}

// spends counts a request that a process sends.
func (b *checker) spends(c *Client, s *server, q *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.budgets[s] == nil {
		return // a test calls the library itself
	}
	have := b.budget(c, s)
	switch {
	case q.Verb == "subscribe": // all that wait look again when it works
		have.left += float64(c.waits)
	case slices.Contains(questions, q.Verb):
		if have.left--; have.left < 0 {
			b.wrong("%s asks too often, while %d wait: %s to %s", c, c.waits, q.Verb, s)
		}
	}
}

// budget returns that of a process at a server, as of now. b.mu is held.
func (b *checker) budget(c *Client, s *server) *budget {
	have, now, rate := c.budgets[s], time.Now(), float64(perSecond)
	if have == nil {
		have = &budget{at: now}
		c.budgets[s] = have
	}
	if len(b.world.servers) > 1 {
		rate = perSecondRed
	}
	saved := have.left + rate*float64(c.waits)*now.Sub(have.at).Seconds()
	have.left, have.at = min(saved, float64(perCall*(1+c.waits))), now
	return have
}

// calls notes that calls of a process begin, or end if there are fewer. b.mu is held.
func (b *checker) calls(c *Client, more int) {
	for _, s := range b.world.servers {
		b.budget(c, s).left += float64(perCall * max(more, 0))
	}
	c.waits += more
}

// earns notes that a wake-up arrives.
func (b *checker) earns(c *Client, s *server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.budget(c, s).left++
}
