// Package gauges watches the machine and the servers while load is sent: the processor time of each process, what Redis and
// PostgreSQL were asked, what the service's metrics say, how tables and indexes grow.
//
// A [Sampler] is stopped by its starter, and returns [Readings], which can write themselves into a report. What cannot be
// read is noted once: an unknown figure is never 0.
package gauges

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Sources say what to watch. An empty source is not known, and the report says so.
type Sources struct {
	GeneratorSelf      bool     // this process sends the load
	ServiceMetricsURLs []string // /metrics of the admin listener of each service
	RedisURL           string   // app.Embedded is one inside the service
	DatabaseURL        string   // postgres://… or sqlite:FILE
	PostmasterPID      int      // of a PostgreSQL on this machine; 0: its processor time is not known
}

// readTimeout bounds a reading: a server that hangs must not hold up the readings of the others for long.
const readTimeout = 2 * time.Second

// gauge reads one source. It connects at its first reading, and again after an error.
type gauge struct {
	name  string // of the source, in notes
	read  func(ctx context.Context) (Reading, error)
	close func(ctx context.Context) error // nil: nothing to close
}

// Sampler reads all sources at intervals until it is stopped.
type Sampler struct {
	gauges   []gauge
	failed   map[string]bool // by the name of a gauge: its failure is noted
	readings Readings
	stop     chan struct{}
	stopped  chan struct{}
}

// Start takes a first reading before it returns, and then one after each interval. The end of ctx ends the readings between,
// but not the last one, which Stop takes: an interrupted run has a last reading too.
func Start(ctx context.Context, sources Sources, every time.Duration) *Sampler {
	s := &Sampler{
		gauges: sources.gauges(), failed: map[string]bool{}, stop: make(chan struct{}), stopped: make(chan struct{}),
		readings: Readings{Start: time.Now(), sources: sources},
	}
	whole := context.WithoutCancel(ctx) // a reading that has begun is finished
	s.read(whole)
	go func() {
		defer close(s.stopped)
		s.tick(ctx, every)
		<-s.stop
		s.read(whole)
		s.close(whole)
	}()
	return s
}

// Stop takes the last reading and returns them all. It is called once.
func (s *Sampler) Stop() Readings {
	close(s.stop)
	<-s.stopped
	return s.readings
}

func (s *Sampler) tick(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.read(context.WithoutCancel(ctx))
		}
	}
}

// read takes a reading, of all sources at once so that they are of one moment.
func (s *Sampler) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	reading := Reading{After: time.Since(s.readings.Start), values: map[Quantity]float64{}}
	parts, errs := make([]Reading, len(s.gauges)), make([]error, len(s.gauges))
	var reads sync.WaitGroup
	for i, g := range s.gauges {
		reads.Go(func() { parts[i], errs[i] = g.read(ctx) })
	}
	reads.Wait()
	for i, g := range s.gauges {
		if errs[i] == nil {
			reading.add(parts[i])
		}
		s.note(g.name, errs[i])
	}
	s.readings.All = append(s.readings.All, reading)
}

func (s *Sampler) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for _, g := range s.gauges {
		if g.close != nil {
			s.note(g.name, g.close(ctx))
		}
	}
}

// note records the first failure of each source. The source is read again: servers come back.
func (s *Sampler) note(name string, err error) {
	if err == nil || s.failed[name] {
		return
	}
	s.failed[name] = true
	s.readings.Notes = append(s.readings.Notes, fmt.Sprintf("%s: not read at %.1f s: %v", name, time.Since(s.readings.Start).Seconds(), err))
}
