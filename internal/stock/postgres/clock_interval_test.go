package postgres

import (
	"testing"
	"time"

	"inventory/internal/busytest"
)

// TestTheClockIsKnownAsAnInterval: whatever the looks at the server's clock took, and however that clock was set, its time is
// within what is known of it after the next quick look. A slow look makes what is known no worse.
func TestTheClockIsKnownAsAnInterval(t *testing.T) {
	t.Parallel()
	const quick, slow = time.Millisecond, 400 * time.Millisecond
	type look struct {
		rest     time.Duration // before it
		step     time.Duration // the server's clock is set by that much before it
		out, way time.Duration // until the clock is read, and from then on
	}
	for name, c := range map[string]struct {
		looks []look
		wide  time.Duration // the interval afterwards, at most
	}{
		"one slow look":                   {[]look{{0, 0, quick, slow}}, slow + quick},
		"a quick look after a slow one":   {[]look{{0, 0, quick, slow}, {time.Second, 0, quick, quick}}, 3 * quick},
		"slow looks later on":             {[]look{{0, 0, quick, quick}, {5 * time.Second, 0, slow, slow}, {5 * time.Second, 0, quick, slow}}, 30 * quick},
		"set back":                        {[]look{{0, 0, quick, quick}, {time.Second, -time.Hour, quick, quick}}, 2 * quick},
		"set forward":                     {[]look{{0, 0, quick, quick}, {time.Second, time.Hour, quick, quick}}, 2 * quick},
		"set back by less than was known": {[]look{{0, 0, quick, slow}, {0, -slow / 2, quick, quick}}, 2 * quick},
		"set forward, and a slow look":    {[]look{{0, 0, quick, quick}, {time.Second, time.Minute, quick, slow}}, slow + quick},
		"another server, slowly":          {[]look{{0, 0, quick, quick}, {time.Second, -time.Minute, slow, slow}}, 2 * slow},
	} {
		t.Run(name, func(t *testing.T) {
			busytest.Virtual(t, func(t *testing.T) {
				clock, offset := &serverClock{}, 7*time.Hour
				for _, look := range c.looks {
					time.Sleep(look.rest)
					offset += look.step
					sent := time.Now()
					time.Sleep(look.out)
					server := time.Now().Add(offset)
					time.Sleep(look.way)
					clock.note(sent, server)
				}
				for _, later := range []time.Duration{0, time.Second} {
					time.Sleep(later)
					earliest, latest := clock.between(time.Now())
					now := time.Now().Add(offset)
					if now.Before(earliest) || now.After(latest) {
						t.Errorf("after %v: it is %v before the earliest, %v after the latest", later, earliest.Sub(now), now.Sub(latest))
					}
					if wide := latest.Sub(earliest); wide > c.wide+later/clocksDrift*2 {
						t.Errorf("after %v: got an interval of %v, want %v at most", later, wide, c.wide)
					}
				}
			})
		})
	}
}
