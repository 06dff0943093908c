package contenders

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/worker"
)

// The kinds of work that processes of their own do.
const (
	workNoop    = "noop"    // answer without doing anything
	workServe   = "serve"   // the service, over HTTP
	workCallers = "callers" // the service, with callers inside
)

// job is what a process of its own shall do. Callers want all of it, a service where its servers are.
type job struct {
	Kind     string `json:"kind"`
	KeysFile string `json:"keys_file"` // of the API keys that a service asks for; "": it asks for none
	crowd.Job
}

// Work does one job: that of a process which the lab has started. A server tells its URL, and serves until nobody
// listens any more.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	j, lines, err := worker.Read[job](in)
	if err != nil {
		return err
	}
	switch j.Kind {
	case workNoop:
		return serveNoop(ctx, lines, out)
	case workServe:
		config := app.Config{DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, Access: access.Config{KeysFile: j.KeysFile}}
		return crowd.WithService(ctx, config, func(service *app.App) error {
			_, err := fmt.Fprintln(out, service.URL())
			lines.Scan() // until nobody talks any more
			return err
		})
	case workCallers:
		return j.Do(ctx, lines, out)
	default:
		return fmt.Errorf("there is no work %q", j.Kind)
	}
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

const headerTimeout = 10 * time.Second

// serveNoop is an Echo handler as anybody would write it first, with nothing behind it.
func serveNoop(ctx context.Context, lines *bufio.Scanner, out io.Writer) error {
	app.SpendMemory(nil) // as the service does that it is compared with
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
	server := &http.Server{Handler: e, ReadHeaderTimeout: headerTimeout}
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
