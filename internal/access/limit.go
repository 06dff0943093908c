package access

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// mostCallers bounds each of a limiter's two maps of callers.
const mostCallers = 1 << 17

// Limiter bounds how often each caller may call. Each has a bucket that holds burst requests and fills at a rate.
//
// The limiter forgets a caller that has not called for the time that an empty bucket takes to fill: a new bucket would be
// full as well. So the limiter keeps two maps: one of recent callers, which it sets aside after that time, and the one
// that it set aside last. With very many callers it does so earlier: then a few may get a second burst, and none is
// refused for it. It is safe for concurrent use.
type Limiter struct {
	rate  rate.Limit
	burst int
	fill  time.Duration // in which an empty bucket fills

	mu           sync.Mutex
	now, before  map[string]*rate.Limiter
	began        time.Time // when the map now was new
	most         int       // callers in each of them
	headerPolicy string
}

// NewLimiter returns a limiter of perSecond requests per second, in bursts of at most burst; 0: the requests of a second.
func NewLimiter(perSecond float64, burst int) (*Limiter, error) {
	if !(perSecond > 0) || perSecond > math.MaxInt32 {
		return nil, fmt.Errorf("rate limit: must be more than 0 requests per second, and at most %d", math.MaxInt32)
	}
	if burst < 0 || burst > math.MaxInt32 {
		return nil, fmt.Errorf("rate burst: must be 1 to %d requests", math.MaxInt32)
	}
	if burst == 0 {
		burst = int(math.Ceil(perSecond))
	}
	l := &Limiter{rate: rate.Limit(perSecond), burst: burst, most: mostCallers}
	l.fill = l.timeFor(float64(burst))
	l.headerPolicy = fmt.Sprintf(`"default";q=%d;w=%d`, burst, Seconds(l.fill))
	return l, nil
}

// Policy is the limiter's RateLimit-Policy header: the burst, and the time until the full burst is available again.
func (l *Limiter) Policy() string { return l.headerPolicy }

// Verdict is a limiter's answer to one request.
type Verdict struct {
	OK    bool
	Left  int           // requests that may follow at once
	Full  time.Duration // until the full burst is available
	Retry time.Duration // until one request is available; 0 if this one was
}

// Take takes a request of a caller.
func (l *Limiter) Take(caller string, now time.Time) Verdict {
	bucket := l.bucket(caller, now)
	ok := bucket.AllowN(now, 1)
	return l.verdict(ok, bucket.TokensAt(now))
}

// TakeSome takes as many of the wanted requests as the caller may send now, and returns how many it has taken. The
// verdict is about the others.
func (l *Limiter) TakeSome(caller string, wanted int, now time.Time) (taken int, verdict Verdict) {
	bucket := l.bucket(caller, now)
	for {
		taken = max(0, min(wanted, int(bucket.TokensAt(now))))
		if bucket.AllowN(now, taken) { // otherwise a concurrent call has taken some
			return taken, l.verdict(taken == wanted, bucket.TokensAt(now))
		}
	}
}

// Peek returns what Take would return, and takes nothing.
func (l *Limiter) Peek(caller string, now time.Time) Verdict {
	tokens := l.bucket(caller, now).TokensAt(now)
	return l.verdict(tokens >= 1, tokens)
}

func (l *Limiter) verdict(ok bool, tokens float64) Verdict {
	v := Verdict{OK: ok, Left: int(max(0, tokens)), Full: l.timeFor(float64(l.burst) - tokens)}
	if !ok {
		v.Retry = l.timeFor(1 - tokens)
	}
	return v
}

// bucket finds the bucket of a caller, or makes one.
func (l *Limiter) bucket(caller string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil || len(l.now) >= l.most || now.Sub(l.began) > l.fill {
		if now.Sub(l.began) > 2*l.fill {
			l.now = nil // no caller in it has called in the time of a fill
		}
		l.now, l.before, l.began = make(map[string]*rate.Limiter), l.now, now
	}
	bucket := l.now[caller]
	if bucket != nil {
		return bucket
	}
	if bucket = l.before[caller]; bucket == nil {
		bucket = rate.NewLimiter(l.rate, l.burst)
	}
	l.now[caller] = bucket
	return bucket
}

// timeFor returns the time in which the bucket gains that many requests.
func (l *Limiter) timeFor(requests float64) time.Duration {
	return time.Duration(min(requests/float64(l.rate), math.MaxInt32) * float64(time.Second))
}

// Seconds rounds up to whole seconds, at least one, for headers.
func Seconds(d time.Duration) int { return int(max(1, math.Ceil(d.Seconds()))) }
