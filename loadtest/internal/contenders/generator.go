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

// traffic is what is sent over HTTP: orders of one unit, or of a unit of several SKUs.
type traffic struct {
	url         string   // of the SKU's deductions, of many deductions, or of orders of several SKUs
	skus        []string // one by chance replaces "*" in the URL of each request, or follow one another in an order; none: the URL has the SKU
	lines       int      // of an order of several SKUs; 0: it is of one
	together    int      // orders in one request; 0: each alone
	sku         string   // of orders that go together
	key         string   // API key; "": none is sent
	connections int
	window      time.Duration
	growing     bool     // order ids are UUIDs of version 7; otherwise of version 4
	again       int      // one request in this many repeats a winner; 0: none
	winners     []string // order ids to repeat
}

// order is an order, as requests and answers have it.
type order struct {
	SKU      string  `param:"sku" json:"sku,omitempty"`
	OrderID  string  `json:"order_id,omitempty"`
	Quantity int64   `json:"quantity,omitempty"`
	Lines    []order `json:"lines,omitempty"`
	Status   string  `json:"status,omitempty"`
}

// orders is the number of orders of one request.
func (t traffic) orders() int64 { return int64(max(1, t.together)) }

// order is an order by its id.
func (t traffic) order(id string) order {
	if t.lines == 0 {
		return order{SKU: t.sku, OrderID: id, Quantity: 1}
	}
	o, from := order{OrderID: id}, rand.IntN(len(t.skus))
	for i := range min(t.lines, len(t.skus)) {
		o.Lines = append(o.Lines, order{SKU: t.skus[(from+i)%len(t.skus)], Quantity: 1})
	}
	return o
}

// patience is how long an answer may take.
const patience = 10 * time.Second

// drive sends from this process until the window is over, and waits for every answer. Each caller has a connection. Answers are
// sales, or refusals for want of stock; any other answer is an error.
func drive(ctx context.Context, t traffic) (round, error) {
	target, err := url.Parse(t.url)
	if err != nil {
		return round{}, fmt.Errorf("URL of the service: %w", err)
	}
	services, err := load.Open(load.Config{
		URLs: []string{target.Scheme + "://" + target.Host}, Key: t.key, Connections: t.connections, Patience: patience,
	})
	if err != nil {
		return round{}, err
	}
	defer services.Close()
	c := &callers{traffic: t, path: target.EscapedPath(), services: services, waits: latency.New()}
	sale, err := load.Buy(ctx, "", t.connections, 0, t.window, c.ask)
	r := round{
		counts: sale.Counts, unanswered: sale.Unanswered * t.orders(), repeated: c.repeated, took: sale.Took,
		p50: c.waits.Quantile(50), p99: c.waits.Quantile(99),
	}
	r.counts[load.Accepted] *= t.orders()
	return r, err
}

// callers is the common state of the callers of a traffic.
type callers struct {
	traffic
	path     string
	services *load.Services

	mu       sync.Mutex
	sent     int
	repeated int64
	waits    *latency.Histogram
}

// ask sends one request. It implements load.Seller, whose order id is not used.
func (c *callers) ask(context.Context, load.Order) (load.Outcome, error) {
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
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waits.Record(time.Since(began))
	}
	return became, err
}

// orderID is the id of a new order, or of a winner that is repeated.
func (c *callers) orderID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent++; c.again > 0 && c.sent%c.again == 0 {
		c.repeated++
		return c.winners[rand.IntN(len(c.winners))]
	}
	if c.growing {
		return uuid.Must(uuid.NewV7()).String()
	}
	return uuid.NewString()
}

// outcome reads an answer.
func (c *callers) outcome(status int, body []byte) (load.Outcome, error) {
	switch {
	case c.together > 0 && bytes.Count(body, []byte(`{"status":201,`)) == c.together, c.together == 0 && status == http.StatusCreated:
		return load.Accepted, nil
	case status == http.StatusOK && c.together == 0:
		return load.Replayed, nil
	case status == http.StatusConflict && bytes.Contains(body, []byte(`"code":"sold_out"`)):
		return load.Refused, nil
	}
	return load.Refused, fmt.Errorf("a wrong answer: %d %.500s", status, body)
}
