package contenders

import (
	"bytes"
	"context"
	"encoding/json"
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

// labClient sends from this process, and waits for every answer.
type labClient struct{}

func (labClient) name() string { return "this program, without wrk" }

// labPatience is how long an answer may take.
const labPatience = 10 * time.Second

// drive implements generator. Each caller has a connection.
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
		counts: sale.Counts, unanswered: sale.Unanswered * t.orders(), repeated: c.repeated, took: sale.Took,
		p50: c.waits.Quantile(50), p99: c.waits.Quantile(99), waits: c.waits,
	}
	r.counts[load.Accepted] *= t.orders()
	return r, err
}

// labCaller is the common state of the callers of a traffic.
type labCaller struct {
	traffic
	path     string
	services *load.Services

	mu       sync.Mutex
	sent     int
	repeated int64
	kept     []string // accepted orders, to be repeated
	waits    *latency.Histogram
}

// mostKept is how many orders are enough to choose from.
const mostKept = 1000

// ask sends one request. It implements load.Seller, whose order id is not used.
func (c *labCaller) ask(context.Context, load.Order) (load.Outcome, error) {
	var all []order
	for range c.orders() {
		all = append(all, c.order(c.orderID()))
	}
	var body any = all[0]
	if c.together > 0 {
		body = map[string]any{"deductions": all}
	}
	request := load.Request{Method: http.MethodPost, Path: c.path}
	if n := len(c.skus); n > 0 {
		request.Path = strings.Replace(c.path, "*", c.skus[rand.IntN(n)], 1)
	}
	var err error
	if request.Body, err = json.Marshal(body); err != nil {
		return load.Refused, fmt.Errorf("write a request: %w", err)
	}
	began := time.Now()
	status, answer, err := c.services.Send(0, request)
	if err != nil {
		return load.Refused, err
	}
	became, err := c.outcome(status, answer)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.waits.Record(time.Since(began))
	}
	if became == load.Accepted && c.again > 0 && len(c.kept) < mostKept {
		c.kept = append(c.kept, all[0].OrderID)
	}
	return became, err
}

// orderID is the id of a new order, or of an accepted one that is repeated.
func (c *labCaller) orderID() string {
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
	return uuid.NewString()
}

// outcome reads an answer. A conflict is a refusal if the SKU is sold out, or the buyer has enough.
func (c *labCaller) outcome(status int, body []byte) (load.Outcome, error) {
	switch {
	case c.together > 0 && bytes.Count(body, []byte(`{"status":201,`)) == c.together, c.together == 0 && status == http.StatusCreated:
		return load.Accepted, nil
	case status == http.StatusOK && c.together == 0:
		return load.Replayed, nil
	case status == http.StatusConflict && (bytes.Contains(body, []byte(`"code":"sold_out"`)) || bytes.Contains(body, []byte(`"code":"buyer_limit"`))):
		return load.Refused, nil
	}
	return load.Refused, fmt.Errorf("a wrong answer: %d %.500s", status, body)
}
