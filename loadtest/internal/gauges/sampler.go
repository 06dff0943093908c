// Package gauges watches what the machine and the servers do while load is sent: how much of the processors each process
// uses, what Redis and PostgreSQL are asked for, what the service tells of itself, how tables and indexes grow.
//
// Whoever starts a [Sampler] stops it, and gets the [Readings], which know how to be a part of a report. What cannot be read
// is said once, in words: a figure that is not known is never 0.
package gauges

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Sources say what there is to watch. What is empty is not known, and the report says so.
type Sources struct {
	GeneratorSelf      bool          // this process sends the load
	ServiceMetricsURLs []string      // /metrics of the admin listener of each service
	RedisURL           string        // app.Embedded is one inside the service
	DatabaseURL        string        // postgres://… or sqlite:FILE
	PostmasterPID      int           // of a PostgreSQL on this machine; 0: its processor time is not known
	Settle             time.Duration // what Stop may wait for PostgreSQL's counters, which lag: see PostgresSettles
}

// readTimeout bounds a reading: a server that stands still must not hold up what is read of the others for long.
const readTimeout = 2 * time.Second

// gauge reads one thing. It connects when it is first read, and again after an error.
type gauge interface {
	name() string                                         // of what is read, for people
	read(ctx context.Context, edge bool) (Reading, error) // the first and the last of a run may cost more
	close(ctx context.Context) error
}

// settler is a gauge whose server tells late what it has done.
type settler interface {
	settle(ctx context.Context, into *Reading) error
}

// Sampler reads all sources again and again until it is stopped.
type Sampler struct {
	gauges   []gauge
	failed   map[string]bool // by the name of a gauge: it has been told
	readings Readings
	stop     chan struct{}
	stopped  chan struct{}
}

// Start takes a first reading, before it returns, and then one after every such time. ctx ends the readings between, and
// not the last one, which Stop takes: that of a run that was interrupted counts too.
func Start(ctx context.Context, sources Sources, every time.Duration) *Sampler {
	s := &Sampler{
		gauges: sources.gauges(), failed: map[string]bool{}, stop: make(chan struct{}), stopped: make(chan struct{}),
		readings: Readings{Start: time.Now(), sources: sources},
	}
	whole := context.WithoutCancel(ctx) // a reading that has begun is finished
	s.read(whole, true)
	go func() {
		defer close(s.stopped)
		s.tick(ctx, every)
		<-s.stop
		s.read(whole, true)
		if ctx.Err() == nil { // who interrupts a run does not want to wait
			s.settle(whole, sources.Settle)
		}
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
			s.read(context.WithoutCancel(ctx), false)
		}
	}
}

// read takes a reading, of all sources side by side so that they are of one moment. What lies at the edges of a run may cost
// more than what is read while load is sent.
func (s *Sampler) read(ctx context.Context, edge bool) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	reading := Reading{After: time.Since(s.readings.Start), values: map[Quantity]float64{}}
	parts, errs := make([]Reading, len(s.gauges)), make([]error, len(s.gauges))
	var reads sync.WaitGroup
	for i, g := range s.gauges {
		reads.Go(func() { parts[i], errs[i] = g.read(ctx, edge) })
	}
	reads.Wait()
	for i, g := range s.gauges {
		reading.add(parts[i])
		s.note(g.name(), reading.After, errs[i])
	}
	s.readings.All = append(s.readings.All, reading)
}

// settle reads again what servers tell late.
func (s *Sampler) settle(ctx context.Context, limit time.Duration) {
	last := &s.readings.All[len(s.readings.All)-1]
	for _, g := range s.gauges {
		if late, ok := g.(settler); ok && limit > 0 && !s.failed[g.name()] {
			limited, cancel := context.WithTimeout(ctx, limit+readTimeout)
			s.note(g.name(), last.After, late.settle(limited, last))
			cancel()
		}
	}
}

func (s *Sampler) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for _, g := range s.gauges {
		s.note(g.name(), time.Since(s.readings.Start), g.close(ctx))
	}
}

// note says of each source once that it cannot be read. It is asked again: servers come back.
func (s *Sampler) note(name string, after time.Duration, err error) {
	if err == nil || s.failed[name] {
		return
	}
	s.failed[name] = true
	s.readings.Notes = append(s.readings.Notes, fmt.Sprintf("%s: not read at %.1f s: %v", name, after.Seconds(), err))
}
