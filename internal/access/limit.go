package access

import (
	"fmt"
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// mostCallers bounds the callers whose buckets are kept.
const mostCallers = 1 << 17

// Limiter bounds how often each caller may call. Each has a bucket that holds burst requests and fills at a rate. With
// very many callers the limiter forgets the one that has not called for longest: it may get a second burst, and nobody
// is refused for it. It is safe for concurrent use.
type Limiter struct {
	rate         rate.Limit
	burst        int
	buckets      *lru.Cache[string, *rate.Limiter]
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
	buckets, err := lru.New[string, *rate.Limiter](mostCallers)
	if err != nil {
		return nil, err
	}
	l := &Limiter{rate: rate.Limit(perSecond), burst: burst, buckets: buckets}
	l.headerPolicy = fmt.Sprintf(`"default";q=%d;w=%d`, burst, Seconds(l.timeFor(float64(burst))))
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
	_, verdict := l.TakeSome(caller, 1, now)
	return verdict
}

// TakeSome takes as many of the wanted requests as the caller may send now, and returns how many it has taken. The
// verdict is about the others.
func (l *Limiter) TakeSome(caller string, wanted int, now time.Time) (taken int, verdict Verdict) {
	bucket := l.bucket(caller)
	for {
		taken = max(0, min(wanted, int(bucket.TokensAt(now))))
		if bucket.AllowN(now, taken) { // otherwise a concurrent call has taken some
			return taken, l.verdict(taken == wanted, bucket.TokensAt(now))
		}
	}
}

// Peek returns what Take would return, and takes nothing.
func (l *Limiter) Peek(caller string, now time.Time) Verdict {
	tokens := l.bucket(caller).TokensAt(now)
	return l.verdict(tokens >= 1, tokens)
}

func (l *Limiter) verdict(ok bool, tokens float64) Verdict {
	v := Verdict{OK: ok, Left: int(max(0, tokens)), Full: l.timeFor(float64(l.burst) - tokens)}
	if !ok {
		v.Retry = l.timeFor(1 - tokens)
	}
	return v
}

// bucket finds the bucket of a caller, or makes one. Of several that are made at once one counts.
func (l *Limiter) bucket(caller string) *rate.Limiter {
	if bucket, known := l.buckets.Get(caller); known {
		return bucket
	}
	made := rate.NewLimiter(l.rate, l.burst)
	if bucket, known, _ := l.buckets.PeekOrAdd(caller, made); known {
		return bucket
	}
	return made
}

// timeFor returns the time in which the bucket gains that many requests.
func (l *Limiter) timeFor(requests float64) time.Duration {
	return time.Duration(min(requests/float64(l.rate), math.MaxInt32) * float64(time.Second))
}

// Seconds rounds up to whole seconds, at least one, for headers.
func Seconds(d time.Duration) int { return int(max(1, math.Ceil(d.Seconds()))) }
