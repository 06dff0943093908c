package soak

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/gauges"
)

// steady is a course of ten minutes in which nothing changes but by chance.
func steady(random *rand.Rand) Course {
	c := Course{Length: 10 * time.Minute, Accepted: 10_000, Before: 90, AtRest: 95}
	for n := range c.Waits {
		c.Waits[n], c.Lags[n] = latency.New(), latency.New()
		for range 2000 {
			c.Lags[n].Record(time.Millisecond)
			c.Waits[n].Record(time.Duration(1+random.IntN(20)) * time.Millisecond)
		}
	}
	for at := 0.; at < 600; at++ {
		c.Memory.Seconds, c.Goroutines.Seconds = append(c.Memory.Seconds, at), append(c.Goroutines.Seconds, at)
		c.Memory.Values = append(c.Memory.Values, 100e6+10e6*random.Float64())
		c.Goroutines.Values = append(c.Goroutines.Values, float64(100+random.IntN(10)))
	}
	return c
}

// wantVerdict demands that just these targets were missed, of four, and that something is said.
func wantVerdict(t *testing.T, v Verdict, says string, missed ...string) {
	t.Helper()
	if len(v.Targets) != 4 {
		t.Errorf("targets %v", v.Targets)
	}
	for _, target := range v.Targets {
		shall := false
		for _, m := range missed {
			shall = shall || strings.Contains(target.What, m)
		}
		if target.Met == shall {
			t.Errorf("%v", target)
		}
	}
	if told := strings.Join(v.Sentences, "\n"); !strings.Contains(told, says) {
		t.Errorf("it does not say %q:\n%s", says, told)
	}
}

func TestWhatChangesIsJudged(t *testing.T) {
	t.Parallel()
	const seed = 11 // of every course
	for name, c := range map[string]struct {
		change func(*Course)
		says   string
		missed []string
	}{
		"nothing": {func(*Course) {}, "is not more than it wavers", nil},
		"a leak of memory": {func(c *Course) {
			for i := range c.Memory.Values {
				c.Memory.Values[i] += 200e3 * c.Memory.Seconds[i] // 720 MB an hour
			}
		}, "bytes for each accepted order: at that rate it doubles in 19m0s", []string{"memory"}},
		"memory that is given back": {func(c *Course) {
			for i := range c.Memory.Values {
				c.Memory.Values[i] += 200e3 * (600 - c.Memory.Seconds[i])
			}
		}, "nothing is lost", nil},
		"memory that grows at first": {func(c *Course) {
			for i := range c.Memory.Values {
				c.Memory.Values[i] += 1e6 * min(c.Memory.Seconds[i], 200)
			}
		}, "is not more than it wavers", nil},
		"goroutines that do not end": {func(c *Course) {
			for i := range c.Goroutines.Values {
				c.Goroutines.Values[i] += c.Goroutines.Seconds[i]
			}
			c.AtRest = 700
		}, "not all of them end", []string{"goroutines"}},
		"goroutines that stay, of a few requests": {func(c *Course) {
			c.AtRest = 113
		}, "It had 90 goroutines before the first request, and 113 when all was done.", []string{"when all was done"}},
		"answers that take longer": {func(c *Course) {
			for range 100 {
				c.Waits[quarters-1].Record(100 * time.Millisecond)
			}
		}, "answers take longer as time goes by.", []string{"p99"}},
		"a machine that is busy": {func(c *Course) {
			for range 100 {
				c.Waits[quarters-1].Record(100 * time.Millisecond)
				c.Lags[quarters-1].Record(40 * time.Millisecond)
			}
		}, "the generator itself was 40 ms late", []string{"p99"}},
		"a little growth": {func(c *Course) {
			for i := range c.Memory.Values {
				c.Memory.Values[i] += 30e3 * c.Memory.Seconds[i]
			}
		}, "too little to tell a leak", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			course := steady(rand.New(rand.NewPCG(seed, 0)))
			c.change(&course)
			wantVerdict(t, Judge(course), c.says, c.missed...)
		})
	}
}

// TestAServiceThatLeaksIsCaught watches one that keeps something of every request, and one that does not.
func TestAServiceThatLeaksIsCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kept   float64 // of a request
		says   string
		missed []string
	}{
		"leaks":      {1, "not all of them end", []string{"memory", "goroutines"}},
		"keeps none": {0, "they are given back", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			course := steady(rand.New(rand.NewPCG(12, 0)))
			course.Memory, course.Goroutines = watched(t, c.kept)
			course.Before, course.AtRest = course.Goroutines.Values[0], course.Goroutines.Values[len(course.Goroutines.Values)-1]
			wantVerdict(t, Judge(course), c.says, c.missed...)
		})
	}
}

// watched reads the metrics of a service again and again. Their times are stretched to those of a run of ten minutes.
func watched(t *testing.T, kept float64) (memory, goroutines Line) {
	t.Helper()
	const looks = 200
	var requests atomic.Int64
	enough := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := requests.Add(1)
		if n == looks {
			close(enough)
		}
		_, _ = fmt.Fprintf(w, "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %f\n"+
			"# TYPE go_goroutines gauge\ngo_goroutines %f\n", 100e6+kept*1e6*float64(n), 50+kept*float64(n))
	}))
	defer service.Close()
	sampler := gauges.Start(t.Context(), gauges.Sources{ServiceMetricsURLs: []string{service.URL}}, time.Millisecond)
	<-enough
	readings := sampler.Stop()
	stretched := func(seconds, values []float64) Line {
		l := Line{Values: values}
		for i := range seconds {
			l.Seconds = append(l.Seconds, 600*float64(i)/float64(len(seconds)))
		}
		return l
	}
	return stretched(readings.Points(gauges.Memory)), stretched(readings.Points(gauges.Goroutines))
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	t.Parallel()
	c := Course{Length: 10 * time.Minute}
	for n := range c.Waits {
		c.Waits[n] = latency.New()
	}
	if v := Judge(c); len(v.Targets) > 0 || len(v.Notes) != 3 || len(v.Sentences) > 0 {
		t.Errorf("%+v", v)
	}
}

// TestAShortRunIsHeldToLess than a long one.
func TestAShortRunIsHeldToLess(t *testing.T) {
	t.Parallel()
	for length, c := range map[time.Duration]struct {
		targets, notes int
		memory         string
		goroutines     string
	}{
		5 * time.Minute:  {4, 0, "is not more than it wavers", "they are given back"},
		time.Minute:      {3, 1, "a run this short does not tell", "they are given back"},
		59 * time.Second: {2, 2, "a run this short does not tell", "a run this short does not tell"},
	} {
		course := steady(rand.New(rand.NewPCG(13, 0)))
		course.Length = length
		v := Judge(course)
		if len(v.Targets) != c.targets || len(v.Notes) != c.notes || !strings.Contains(v.Sentences[1], c.memory) || !strings.Contains(v.Sentences[2], c.goroutines) {
			t.Errorf("%v: %+v", length, v)
		}
	}
}
