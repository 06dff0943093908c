package contenders

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/app"
)

// The kinds of work that processes of their own do.
const (
	workNoop    = "noop"    // answer without doing anything
	workServe   = "serve"   // the service, over HTTP
	workCallers = "callers" // the service, with callers inside
)

// job is what a process of its own shall do.
type job struct {
	Kind        string        `json:"kind"`
	DatabaseURL string        `json:"database_url"`
	RedisURL    string        `json:"redis_url"`
	SKU         string        `json:"sku"`     // of callers
	Callers     int           `json:"callers"` // and how many
	Window      time.Duration `json:"window"`  // and how long
}

// Work does one job: that of a process which the lab has started. A server tells its URL, and serves until nobody
// listens any more.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return errors.New("there is no job")
	}
	var j job
	if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	switch j.Kind {
	case workNoop:
		return serveNoop(ctx, lines, out)
	case workServe:
		return j.withService(ctx, func(service *app.App) error {
			_, err := fmt.Fprintln(out, service.URL())
			lines.Scan() // until nobody talks any more
			return err
		})
	case workCallers:
		return j.withService(ctx, func(service *app.App) error { return j.call(ctx, service, lines, out) })
	default:
		return fmt.Errorf("there is no work %q", j.Kind)
	}
}

// drainTimeout is for what is in flight when a service ends.
const drainTimeout = 10 * time.Second

// withService starts the service as the product does, with its metrics.
func (j job) withService(ctx context.Context, work func(service *app.App) error) error {
	app.SpendMemory() // as `inventory serve` does
	service, err := app.Start(ctx, app.Config{DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, DrainTimeout: drainTimeout})
	if err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	return errors.Join(work(service), service.Close(context.WithoutCancel(ctx)))
}

const (
	ready   = "ready" // says a process of callers when it is
	goAhead = "go"    // says the lab when all are
)

// call lets callers buy when the lab says so, and tells what came of it.
func (j job) call(ctx context.Context, service *app.App, lines *bufio.Scanner, out io.Writer) error {
	if _, err := fmt.Fprintln(out, ready); err != nil {
		return fmt.Errorf("talk to the lab: %w", err)
	}
	if !lines.Scan() || lines.Text() != goAhead {
		return errors.New("nobody said go")
	}
	s, err := crowd(ctx, j.SKU, j.Callers, j.Window, sellerOf(service.Service()))
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(s)
}

// noopRequest is what the service is asked.
type noopRequest struct {
	SKU      string `param:"sku"`
	OrderID  string `json:"order_id"`
	BuyerID  string `json:"buyer_id"`
	Quantity int64  `json:"quantity"`
}

// noopAnswer is what it answers.
type noopAnswer struct {
	SKU      string `json:"sku"`
	OrderID  string `json:"order_id"`
	BuyerID  string `json:"buyer_id,omitempty"`
	Quantity int64  `json:"quantity"`
	Status   string `json:"status"`
}

// serveNoop is an Echo handler as anybody would write it first, with nothing behind it.
func serveNoop(ctx context.Context, lines *bufio.Scanner, out io.Writer) error {
	e := echo.New()
	e.POST("/v1/skus/:sku/deductions", func(c echo.Context) error {
		var r noopRequest
		if err := c.Bind(&r); err != nil {
			return err
		}
		return c.JSON(http.StatusCreated, noopAnswer{r.SKU, r.OrderID, r.BuyerID, r.Quantity, "committed"})
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: e, ReadHeaderTimeout: drainTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(out, "http://"+listener.Addr().String()); err != nil {
		return errors.Join(fmt.Errorf("talk to the lab: %w", err), server.Close(), <-served)
	}
	lines.Scan() // until nobody talks any more
	err = server.Close()
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
