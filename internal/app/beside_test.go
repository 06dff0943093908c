package app_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/internal/busytest"
)

// The windows in which honest callers are measured, alternately alone and together with others. Each pair is compared
// separately, so that other work of the machine matters little. A window is longer on a slow machine, until it has enough orders.
const (
	besideLeadIn = 100 * time.Millisecond // in which the others start
	besideWindow = 300 * time.Millisecond
	leadInOrders = 20
	windowOrders = 100
	besideRounds = 30 // at most, until one round suffices
	besideEnough = 0.8
)

// caller sends one request after the other over its own connection.
type caller struct {
	*http.Client
	url   string
	token string // of the caller; "" is none
}

func newCaller(t *testing.T, url string) *caller {
	t.Helper()
	transport := &http.Transport{MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	return &caller{Client: &http.Client{Transport: transport}, url: url}
}

// post sends a POST and returns the status of the answer; 0 if there is none.
func (c *caller) post(ctx context.Context, path string, body []byte) int {
	return c.ask(ctx, http.MethodPost, path, bytes.NewReader(body))
}

// get sends a GET and returns the status of the answer; 0 if there is none.
func (c *caller) get(ctx context.Context, path string) int {
	return c.ask(ctx, http.MethodGet, path, http.NoBody)
}

func (c *caller) ask(ctx context.Context, method, path string, body io.Reader) (status int) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0
	}
	return response.StatusCode
}

// load is a number of callers that send requests again and again: send sends the n-th request of one of them.
type load struct {
	t       *testing.T
	callers []*caller
	send    func(ctx context.Context, c *caller, who, n int) (status int)
	sent    atomic.Int64
	taken   atomic.Int64  // requests that were answered with a success
	share   float64       // of the rate of the honest callers; 0: as fast as it can
	every   time.Duration // between the starts of two requests; 0: as fast as it can
}

func newLoad(t *testing.T, a *app.App, callers int, send func(ctx context.Context, c *caller, who, n int) int) *load {
	l := &load{t: t, send: send}
	for range callers {
		l.callers = append(l.callers, newCaller(t, a.URL()))
	}
	return l
}

// run sends until ctx ends, and returns how many requests came to each status.
func (l *load) run(ctx context.Context) map[int]int {
	var mu sync.Mutex
	told := make(map[int]int)
	turn := func() bool { return ctx.Err() == nil }
	if l.every > 0 {
		ticker := time.NewTicker(l.every)
		defer ticker.Stop()
		turn = func() bool {
			select {
			case <-ticker.C:
				return true
			case <-ctx.Done():
				return false
			}
		}
	}
	var wg sync.WaitGroup
	for who, c := range l.callers {
		wg.Go(func() {
			for turn() {
				status := l.send(ctx, c, who, int(l.sent.Add(1)))
				if status/100 == 2 {
					l.taken.Add(1)
				}
				mu.Lock()
				told[status]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return told
}

// runFor is run for a time, and until so many requests have succeeded. It also returns how many succeeded in a second.
func (l *load) runFor(ctx context.Context, d time.Duration, requests int64) (told map[int]int, rate float64) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, busytest.Patience)
	defer cancel()
	begin, before := time.Now(), l.taken.Load()
	var waiting sync.WaitGroup
	waiting.Go(func() {
		defer cancel()
		for over := time.After(d); ; {
			select {
			case <-over:
				over = time.After(10 * time.Millisecond)
				if l.taken.Load() >= before+requests {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	told = l.run(ctx)
	waiting.Wait()
	taken := l.taken.Load() - before
	if taken < requests {
		l.t.Errorf("%d of %d requests succeeded within %s", taken, requests, busytest.Patience)
	}
	return told, float64(taken) / time.Since(begin).Seconds()
}

// keepsBeside demands that honest callers keep most of their rate together with others, and all their orders, in one of some
// rounds. Their rate alone, right before, is the control: other work of the machine slows windows of either kind, and the other
// callers slow every window that they are in.
func (l *load) keepsBeside(others *load) {
	l.t.Helper()
	kept := 0.0
	window := func(with *load) (rate float64, refused int) {
		all, cancel := context.WithCancel(l.t.Context())
		defer cancel()
		var wg sync.WaitGroup
		if with != nil {
			wg.Go(func() { l.t.Logf("the others were told %v", with.run(all)) })
		}
		l.runFor(all, besideLeadIn, leadInOrders)
		told, rate := l.runFor(all, besideWindow, windowOrders)
		cancel()
		wg.Wait()
		delete(told, 0) // cut off by the end of the window
		l.t.Logf("the honest ones were told %v", told)
		for status, orders := range told {
			switch status {
			case http.StatusCreated:
			case http.StatusServiceUnavailable: // as a busy database that has not answered in time
				refused += orders
			default:
				l.t.Errorf("%d honest orders were told %d", orders, status)
			}
		}
		return rate, refused
	}
	for range besideRounds {
		alone, _ := window(nil)
		if others.share > 0 {
			others.every = time.Duration(float64(time.Second) / (others.share * alone))
		}
		if beside, refused := window(others); refused == 0 {
			kept = max(kept, beside/alone)
		}
		if l.t.Logf("kept %.2f at best", kept); kept >= besideEnough || l.t.Failed() {
			return
		}
	}
	l.t.Errorf("kept %.2f of the rate, where %.2f are enough", kept, besideEnough)
}

// TestLargeOrdersLeaveOthersTheirTurn lets 12 callers send the largest possible orders, of several kinds, while 8 callers
// buy two SKUs at a time. Those 8 keep 0.8 of the rate that they have alone. Without turns it is less than a third.
func TestLargeOrdersLeaveOthersTheirTurn(t *testing.T) {
	busytest.Slow(t)
	s := open(t, app.LockReentrant, redisServers[0].URL())
	shop := openShop(t, s.apps[0])
	honest := newLoad(t, s.apps[0], 8, shop.small)
	for name, send := range map[string]func(ctx context.Context, c *caller, who, n int) int{
		"the last one is sold out": shop.large("zz-sold-out", 1),
		"the last one is short":    shop.large("zz-few", 3),
		"the last one is unknown":  shop.large("zz-unknown", 1),
		"the last one is limited":  shop.large("zz-limited", 2),
		"each is taken":            shop.large("zz-plenty", 1),
		"each is merged":           shop.merging(),
		"the same again":           shop.again(),
		"no order at all":          shop.nonsense(),
		"a million lines":          shop.manyLines(),
		"a million deductions":     shop.manyDeductions(),
	} {
		t.Run(name, func(t *testing.T) {
			honest.t = t
			honest.keepsBeside(newLoad(t, s.apps[0], 12, send))
		})
	}
}
