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

// value is a number of a reading; NaN where it was not read.
type value func(Reading) float64

// Took is the time from the first reading to the last.
func (r Readings) Took() time.Duration {
	if len(r.All) == 0 {
		return 0
	}
	return r.All[len(r.All)-1].After
}

// having are the readings that have a value.
func (r Readings) having(of value) []Reading {
	return slices.DeleteFunc(slices.Clone(r.All), func(x Reading) bool { return math.IsNaN(of(x)) })
}

// grown is by how much a counter has grown. One that is less than it was has begun again, with its process. NaN: not known.
func (r Readings) grown(of value) float64 {
	all := r.having(of)
	if len(all) < 2 {
		return math.NaN()
	}
	sum := 0.0
	for i := 1; i < len(all); i++ {
		sum += step(of(all[i-1]), of(all[i]))
	}
	return sum
}

func step(before, after float64) float64 {
	if after < before {
		return after
	}
	return after - before
}

// points are a value over time, and the seconds at which it was read.
func (r Readings) points(of value) (x, y []float64) {
	for _, reading := range r.having(of) {
		x, y = append(x, reading.After.Seconds()), append(y, of(reading))
	}
	return x, y
}

// rates are by how much a counter grew a second, between any two readings.
func (r Readings) rates(of value) (x, y []float64) {
	return r.steps(of, func(before, after Reading) float64 {
		return step(of(before), of(after)) / (after.After - before.After).Seconds()
	})
}

// steps are what lies between any two readings that have a value. NaN is left out.
func (r Readings) steps(of value, between func(before, after Reading) float64) (x, y []float64) {
	all := r.having(of)
	for i := 1; i < len(all); i++ {
		if all[i].After <= all[i-1].After {
			continue
		}
		if v := between(all[i-1], all[i]); !math.IsNaN(v) {
			x, y = append(x, all[i].After.Seconds()), append(y, v)
		}
	}
	return x, y
}

// most is the largest of a value; NaN: not known.
func (r Readings) most(of value) float64 {
	_, y := r.points(of)
	if len(y) == 0 {
		return math.NaN()
	}
	return slices.Max(y)
}

// Memory is the resident memory of the service in bytes, and the seconds at which it was read; none where it is not known.
func (r Readings) Memory() (seconds, bytes []float64) { return r.points(ofService(residentOf)) }

// Goroutines are those of the service, and the seconds at which they were read; none where they are not known.
func (r Readings) Goroutines() (seconds, goroutines []float64) {
	return r.points(ofService(goroutinesOf))
}

// CPU is how many seconds of processors a process has used; NaN: not known.
func (r Readings) CPU(p Process) float64 { return r.grown(cpuOf(p)) }

func cpuOf(p Process) value { return func(x Reading) float64 { return x.CPU[p] } }

func ofService(of func(*ServiceReading) float64) value {
	return func(x Reading) float64 {
		if x.Service == nil {
			return math.NaN()
		}
		return of(x.Service)
	}
}

func ofRedis(of func(*RedisReading) float64) value {
	return func(x Reading) float64 {
		if x.Redis == nil {
			return math.NaN()
		}
		return of(x.Redis)
	}
}

func ofPostgres(of func(*PostgresReading) float64) value {
	return func(x Reading) float64 {
		if x.Postgres == nil {
			return math.NaN()
		}
		return of(x.Postgres)
	}
}

func ofSQLite(of func(*SQLiteReading) float64) value {
	return func(x Reading) float64 {
		if x.SQLite == nil {
			return math.NaN()
		}
		return of(x.SQLite)
	}
}

// LockWait is what lanes waited for locks during the run.
func (r Readings) LockWait() Histogram {
	part := func(of func(Histogram) float64) float64 {
		return r.grown(ofService(func(s *ServiceReading) float64 { return of(s.LockWait) }))
	}
	all := r.having(ofService(func(*ServiceReading) float64 { return 0 }))
	h := Histogram{Count: part(func(h Histogram) float64 { return h.Count }), Sum: part(func(h Histogram) float64 { return h.Sum })}
	if len(all) == 0 {
		return h
	}
	h.Bounds = all[len(all)-1].Service.LockWait.Bounds
	for i := range h.Bounds {
		h.Within = append(h.Within, part(func(h Histogram) float64 {
			if i >= len(h.Within) {
				return 0 // nothing was counted yet
			}
			return h.Within[i]
		}))
	}
	return h
}

// Mean is NaN where nothing was counted.
func (h Histogram) Mean() float64 { return h.Sum / h.Count }

// Quantile is the value that a share of all, 0 to 1, stayed within, as Prometheus estimates it: those of a bucket are taken to
// be spread evenly. What is beyond the last bound counts as that. NaN where nothing was counted.
func (h Histogram) Quantile(share float64) float64 {
	if len(h.Bounds) == 0 || !(h.Count > 0) {
		return math.NaN()
	}
	rank := share * h.Count
	i := slices.IndexFunc(h.Within, func(n float64) bool { return n >= rank })
	if i < 0 {
		return h.Bounds[len(h.Bounds)-1]
	}
	low, below := 0.0, 0.0
	if i > 0 {
		low, below = h.Bounds[i-1], h.Within[i-1]
	}
	if h.Within[i] == below {
		return h.Bounds[i]
	}
	return low + (h.Bounds[i]-low)*(rank-below)/(h.Within[i]-below)
}
