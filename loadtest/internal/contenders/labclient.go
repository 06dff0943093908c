package contenders

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"inventory/internal/latency"
	"inventory/loadtest/internal/load"
)

// labClient sends from this process, over plain connections that are kept. It hears every answer.
type labClient struct{}

func (labClient) name() string { return "this program, without wrk" }

// labPatience is how long an answer may take.
const labPatience = 10 * time.Second

// drive implements generator. Its callers are a crowd, each of which has a connection.
func (labClient) drive(ctx context.Context, t traffic) (round, error) {
	target, err := url.Parse(t.url)
	if err != nil {
		return round{}, fmt.Errorf("URL of the service: %w", err)
	}
	services, err := load.Open(load.Config{
		URLs: []string{target.Scheme + "://" + target.Host}, Key: t.key, Connections: t.connections, Patience: labPatience,
	})
	if err != nil {
		return round{}, err
	}
	defer services.Close()
	c := &labCaller{traffic: t, path: target.EscapedPath(), services: services, waits: latency.New()}
	sale, err := load.Buy(ctx, "", t.connections, 0, t.window, c.ask)
	r := round{
		counts: sale.Counts, unheard: sale.Unheard * t.orders(), repeated: c.repeated, took: sale.Took,
		p50: c.waits.Quantile(50), p99: c.waits.Quantile(99), waits: c.waits,
	}
	r.counts[load.Accepted] *= t.orders()
	return r, err
}

// labCaller is what the callers of a traffic have in common.
type labCaller struct {
	traffic
	path     string
	services *load.Services

	mu       sync.Mutex
	sent     int
	repeated int64
	kept     []string // orders that were accepted, to be sent again
	waits    *latency.Histogram
}

// mostKept is how many orders are enough to choose from.
const mostKept = 1000

// ask is a crowd's seller.
func (c *labCaller) ask(_ context.Context, o load.Order) (became load.Outcome, err error) {
	began, request, id := time.Now(), load.Request{Method: http.MethodPost, Path: c.path}, c.orderID(o.ID)
	request.Body = []byte(c.body(id))
	if c.together > 0 {
		ids := []string{id}
		for range c.together - 1 {
			ids = append(ids, c.orderID(uuid.NewString()))
		}
		request.Body = []byte(c.bodyOf(ids))
	}
	if n := len(c.skus); n > 0 {
		request.Path = strings.Replace(c.path, "*", c.skus[rand.IntN(n)], 1)
	}
	status, body, err := c.services.Send(0, request)
	if err == nil {
		became, err = c.outcome(status, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.waits.Record(time.Since(began))
	}
	if became == load.Accepted && c.again > 0 && len(c.kept) < mostKept {
		c.kept = append(c.kept, id)
	}
	return became, err
}

// orderID is that of a new order, or every so often that of one that was accepted before.
func (c *labCaller) orderID(random string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	if c.again > 0 && c.sent%c.again == 0 {
		old := c.winners
		if len(old) == 0 {
			old = c.kept
		}
		if len(old) > 0 {
			c.repeated++
			return old[rand.IntN(len(old))]
		}
	}
	if c.growing {
		return uuid.Must(uuid.NewV7()).String()
	}
	return random
}

// outcome is what an answer says.
func (c *labCaller) outcome(status int, body []byte) (load.Outcome, error) {
	switch {
	case c.together > 0:
		if n := bytes.Count(body, []byte(`{"status":201,`)); n < c.together {
			return load.Refused, fmt.Errorf("%d of %d orders were sold: %d %.500s", n, c.together, status, body)
		}
		return load.Accepted, nil
	case status == http.StatusCreated:
		return load.Accepted, nil
	case status == http.StatusOK:
		return load.Replayed, nil
	case status == http.StatusConflict && refused(body):
		return load.Refused, nil
	}
	return load.Refused, fmt.Errorf("a wrong answer: %d %s", status, body)
}

// refused tells whether a conflict is one of those that a buyer has to live with.
func refused(body []byte) bool {
	return bytes.Contains(body, []byte(`"code":"sold_out"`)) || bytes.Contains(body, []byte(`"code":"buyer_limit"`))
}
