// Package gauges watches the machine and the servers while load is sent: the processor time of each process, what PostgreSQL did,
// and what the service's metrics say.
//
// A [Sampler] is stopped by its starter, and returns [Readings], which can write themselves into a report. What cannot be
// read is noted once: an unknown figure is never 0.
package gauges

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"inventory/loadtest/internal/target"
)

// Sources say what to watch. An empty source is not known, and the report says so.
type Sources struct {
	GeneratorSelf      bool     // this process sends the load
	ServiceMetricsURLs []string // /metrics of the admin listener of each service
	DatabaseURL        string   // postgres://…; of another kind nothing is read
	PostmasterPID      int      // of a PostgreSQL on this machine; 0: its processor time is not known
	RedisPID           int      // of a Redis on this machine; 0: its processor time is not known
}

// Of are the sources of a target, to which this process sends the load.
func Of(to *target.Target) Sources {
	s := Sources{GeneratorSelf: true, DatabaseURL: to.DatabaseURL(), PostmasterPID: to.PostmasterPID, RedisPID: to.RedisPID}
	for _, admin := range to.AdminURLs {
		s.ServiceMetricsURLs = append(s.ServiceMetricsURLs, admin+"/metrics")
	}
	return s
}

// Quantity is something that is read: a counter since the start of its process, or a gauge.
type Quantity string

// values are what was read of one source, or of all, at one moment.
type values map[Quantity]float64

// gauge reads one source.
type gauge struct {
	name string // of the source, in notes
	read func(ctx context.Context) (values, error)
}

// readTimeout bounds a reading: a server that hangs must not hold up the readings of the others for long.
const readTimeout = 2 * time.Second

// Sampler reads all sources at intervals until it is stopped.
type Sampler struct {
	gauges   []gauge
	failed   map[string]bool // by the name of a gauge: its failure is noted
	readings Readings
	stop     context.CancelFunc
	stopped  chan struct{}
}

// Start takes a first reading before it returns, and then one after each interval. The end of ctx ends the readings between,
// but not the last one, which Stop takes: an interrupted run has a last reading too.
func Start(ctx context.Context, sources Sources, every time.Duration) *Sampler {
	s := &Sampler{
		gauges: sources.gauges(), failed: map[string]bool{}, stopped: make(chan struct{}),
		readings: Readings{start: time.Now(), sources: sources},
	}
	s.read(ctx)
	ticking, stop := context.WithCancel(ctx)
	s.stop = stop
	go func() {
		defer close(s.stopped)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticking.Done():
				return
			case <-ticker.C:
				s.read(ctx)
			}
		}
	}()
	return s
}

// Stop takes the last reading and returns them all. It is called once.
func (s *Sampler) Stop() Readings {
	s.stop()
	<-s.stopped
	s.read(context.Background())
	return s.readings
}

// read takes a reading, of all sources at once so that they are of one moment. A reading that has begun is finished.
func (s *Sampler) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	now := reading{time.Since(s.readings.start), values{}}
	parts, errs := make([]values, len(s.gauges)), make([]error, len(s.gauges))
	var reads sync.WaitGroup
	for i, g := range s.gauges {
		reads.Go(func() { parts[i], errs[i] = g.read(ctx) })
	}
	reads.Wait()
	for i, g := range s.gauges {
		if errs[i] == nil {
			maps.Copy(now.values, parts[i])
		} else if !s.failed[g.name] { // it is read again all the same: servers come back
			s.failed[g.name] = true
			s.readings.Notes = append(s.readings.Notes, fmt.Sprintf("%s: not read at %.1f s: %v", g.name, now.after.Seconds(), errs[i]))
		}
	}
	s.readings.all = append(s.readings.all, now)
}

// Readings are the readings of a run in order of time: one before it, one after it, and those in between.
type Readings struct {
	Notes []string // what could not be read, and why

	start   time.Time
	all     []reading
	sources Sources
}

type reading struct {
	after time.Duration // since the first
	values
}

// Took is the time from the first reading to the last.
func (r Readings) Took() time.Duration { return r.all[len(r.all)-1].after }

// Points are a quantity over time.
func (r Readings) Points(q Quantity) (seconds, values []float64) {
	for _, x := range r.all {
		if value, known := x.values[q]; known {
			seconds, values = append(seconds, x.after.Seconds()), append(values, value)
		}
	}
	return seconds, values
}

// Grown is the growth of a counter; NaN: not known.
func (r Readings) Grown(q Quantity) float64 {
	_, values := r.Points(q)
	if len(values) < 2 {
		return math.NaN()
	}
	sum := 0.0
	for i := range values[1:] {
		sum += step(values[i], values[i+1])
	}
	return sum
}

// step is the growth of a counter between two readings. It restarts at 0 with its process.
func step(before, after float64) float64 {
	if after < before {
		return after
	}
	return after - before
}

// most is the largest value of a quantity; NaN: not known.
func (r Readings) most(q Quantity) float64 {
	_, values := r.Points(q)
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Max(values)
}

// CPU is how many seconds of processors a process has used; NaN: not known.
func (r Readings) CPU(p Process) float64 { return r.Grown(cpu(p)) }
