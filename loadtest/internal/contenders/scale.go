package contenders

import "time"

// Scale is how much time a measurement takes.
type Scale struct {
	Rounds   int           // at most
	Window   time.Duration // of one contender in one round; wrk takes whole seconds
	Slices   int           // into which the window of one caller is cut
	Callers  [2]int        // at once: some, and many; over HTTP they are connections
	Orders   int           // that are in the table already
	Segments int           // of a SKU
	Units    int           // of the SKU that is sold out
}

// Full is the scale of figures to be told.
func Full() Scale {
	return Scale{Rounds: 10, Window: time.Second, Slices: 10, Callers: [2]int{64, 512}, Orders: 5_000_000, Segments: 10, Units: 1000}
}

// Quick is that of a first look.
func Quick() Scale {
	s := Full()
	s.Rounds, s.Window, s.Orders = 1, 200*time.Millisecond, 50_000
	return s
}

// Tiny is that of a test, which only wants to know that all of it works.
func Tiny() Scale {
	return Scale{Rounds: 1, Window: 40 * time.Millisecond, Slices: 2, Callers: [2]int{3, 8}, Orders: 500, Segments: 3, Units: 30}
}

// of is the scale of a case.
func (s Scale) of(q question) Scale {
	if q.slices {
		s.Rounds, s.Window = s.Rounds*s.Slices, s.Window/time.Duration(s.Slices)
	}
	return s
}

func (s Scale) many() int { return s.Callers[1] }

// bots are those of many connections that a bot has: one in sixteen, and one at least for each thread of wrk.
func (s Scale) bots() int { return max(s.many()/16, wrkThreads) }
