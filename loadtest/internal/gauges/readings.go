package gauges

import (
	"math"
	"slices"
	"time"
)

// Readings are those of a run, in the order of time. There are two at least: before it and after it.
type Readings struct {
	Start time.Time
	All   []Reading
	Notes []string // what could not be read, and why

	sources Sources
}

// Took is the time from the first reading to the last.
func (r Readings) Took() time.Duration {
	if len(r.All) == 0 {
		return 0
	}
	return r.All[len(r.All)-1].After
}

// known is what readings tell of a quantity, and when.
func (r Readings) known(tell func(Reading) float64) (seconds, values []float64) {
	for _, reading := range r.All {
		if value := tell(reading); !math.IsNaN(value) {
			seconds, values = append(seconds, reading.After.Seconds()), append(values, value)
		}
	}
	return seconds, values
}

// points are a quantity over time.
func (r Readings) points(q quantity) (seconds, values []float64) {
	return r.known(func(x Reading) float64 { return x.of(q) })
}

// grown is by how much a counter has grown. One that is less than it was has begun again, with its process. NaN: not known.
func (r Readings) grown(q quantity) float64 {
	return r.growth(func(x Reading) float64 { return x.of(q) })
}

func (r Readings) growth(tell func(Reading) float64) float64 {
	_, values := r.known(tell)
	if len(values) < 2 {
		return math.NaN()
	}
	sum := 0.0
	for i := range values[1:] {
		sum += step(values[i], values[i+1])
	}
	return sum
}

func step(before, after float64) float64 {
	if after < before {
		return after
	}
	return after - before
}

// rates are by how much a counter grew a second, between any two readings.
func (r Readings) rates(q quantity) (at, perSecond []float64) {
	seconds, values := r.points(q)
	for i := 1; i < len(values); i++ {
		if took := seconds[i] - seconds[i-1]; took > 0 {
			at, perSecond = append(at, seconds[i]), append(perSecond, step(values[i-1], values[i])/took)
		}
	}
	return at, perSecond
}

// most is the largest of a quantity; NaN: not known.
func (r Readings) most(q quantity) float64 {
	_, values := r.points(q)
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Max(values)
}

// Memory is the resident memory of the service in bytes, and the seconds at which it was read; none where it is not known.
func (r Readings) Memory() (seconds, bytes []float64) { return r.points(resident) }

// Goroutines are those of the service, and the seconds at which they were read; none where they are not known.
func (r Readings) Goroutines() (seconds, count []float64) { return r.points(goroutines) }

// CPU is how many seconds of processors a process has used; NaN: not known.
func (r Readings) CPU(p Process) float64 { return r.grown(cpu(p)) }

// Merges is how many merges there were; NaN: not known.
func (r Readings) Merges() float64 { return r.grown(merges) }

// MergesOverTime is how many merges there have been, and the seconds at which that was read; none where it is not known.
func (r Readings) MergesOverTime() (seconds, count []float64) { return r.points(merges) }

// LockWaitOverTime is how long workers have waited for locks, and the seconds at which that was read; none where it is not known.
func (r Readings) LockWaitOverTime() (seconds, waited []float64) { return r.points(lockSeconds) }

// LockWait is what workers waited for locks during the run.
func (r Readings) LockWait() Histogram {
	h := Histogram{Count: r.grown(lockWaits), Sum: r.grown(lockSeconds)}
	for _, x := range r.All {
		if x.bounds != nil {
			h.Bounds = x.bounds
		}
	}
	for _, bound := range h.Bounds {
		h.Within = append(h.Within, r.growth(func(x Reading) float64 {
			if math.IsNaN(x.of(lockWaits)) {
				return math.NaN()
			}
			return x.values[waitsWithin(bound)] // 0: nothing was counted yet
		}))
	}
	return h
}

// lockWaits are those between any two readings of the service, as somebody tells them.
func (r Readings) lockWaits(tell func(Histogram) float64) (seconds, values []float64) {
	known := slices.DeleteFunc(slices.Clone(r.All), func(x Reading) bool { return math.IsNaN(x.of(lockWaits)) })
	for i := 1; i < len(known); i++ {
		if value := tell(Readings{All: known[i-1 : i+1]}.LockWait()); !math.IsNaN(value) {
			seconds, values = append(seconds, known[i].After.Seconds()), append(values, value)
		}
	}
	return seconds, values
}

// relations are the tables and indexes of the first and of the last reading that tell of them.
func (r Readings) relations() (first, last []Relation) {
	for _, reading := range r.All {
		if len(reading.relations) > 0 {
			if first == nil {
				first = reading.relations
			}
			last = reading.relations
		}
	}
	return first, last
}

// Growth is by how many bytes all tables grew, and all indexes; NaN: not known.
func (r Readings) Growth() (tables, indexes float64) {
	change := func(q quantity) float64 {
		_, values := r.points(q)
		if len(values) == 0 {
			return math.NaN()
		}
		return values[len(values)-1] - values[0]
	}
	return change(tableBytes), change(indexBytes)
}

// Writes is how many transactions wrote in PostgreSQL; NaN: not known.
func (r Readings) Writes() float64 { return r.grown(writes) }
