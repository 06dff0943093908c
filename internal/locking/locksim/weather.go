package locksim

import (
	"math/rand/v2"
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

// dropsMessage decides whether a wake-up is lost.
func (c *climate) dropsMessage(random *rand.Rand, now time.Time) bool {
	return now.Before(c.clears) && random.Float64() < c.Deaf
}
