package segments

import "time"

// Scale is the size of a measurement.
type Scale struct {
	Rounds    int   // at most
	Segments  []int // of a SKU, one after another
	Processes []int // that sell it
	Callers   int   // in all
	WarmUp    time.Duration
	Window    time.Duration

	LongRounds int // of the other cases, whose windows follow
	Default    int // segments of a SKU in all other cases
	// A process stands still from After on, for Still, and sells on for Rest.
	After, Still, Rest time.Duration
	// Orders come at half the capacity for Calm, at three times the capacity for Overload, and at half again for Recovery.
	Calm, Overload, Recovery time.Duration
}

// Full is the scale of published figures. The process stands still for longer than its locks last, and for longer than
// orders wait.
func Full() Scale {
	return Scale{
		Rounds: 10, Segments: []int{1, 2, 4, 8, 16, 32, 64}, Processes: []int{1, 2, 4}, Callers: 512,
		WarmUp: 300 * time.Millisecond, Window: time.Second,
		LongRounds: 6, Default: 10, After: 3 * time.Second, Still: 7 * time.Second, Rest: 5 * time.Second,
		Calm: 2 * time.Second, Overload: 4 * time.Second, Recovery: 6 * time.Second,
	}
}

// Quick is the scale of a first look.
func Quick() Scale {
	s := Full()
	s.Rounds, s.LongRounds, s.Segments, s.Window = 1, 1, []int{1, 8, 64}, 400*time.Millisecond
	s.After, s.Still, s.Rest = time.Second/2, 2*time.Second, 7*time.Second/2
	s.Calm, s.Overload = time.Second, 2*time.Second
	return s
}

// Tiny is the scale of tests.
func Tiny() Scale {
	const moment = 200 * time.Millisecond
	return Scale{
		Rounds: 1, Segments: []int{1, 3}, Processes: []int{1, 2}, Callers: 9, WarmUp: moment / 20, Window: 2 * moment,
		LongRounds: 1, Default: 3,
		After: moment, Still: moment, Rest: moment, Calm: moment, Overload: moment, Recovery: moment,
	}
}
