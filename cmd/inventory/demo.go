package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cli/browser"
	"github.com/google/uuid"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/classroom"
	"inventory/internal/cli"
	"inventory/internal/latency"
	"inventory/internal/stock"
)

type demoCommand struct {
	serviceFlags
	Stock       int64    `group:"sale" help:"Units on sale, 0 to 1000000000." default:"10000"`
	Segments    int      `group:"sale" help:"Segments of the SKU, 1 to 1024." default:"10"`
	Buyers      int      `group:"sale" help:"Buyers; each sends one order." default:"20000"`
	Quantity    quantity `group:"sale" help:"Units of an order: one number, or a range such as 1-5 to draw from." default:"1"`
	Concurrency int      `group:"sale" help:"Orders in flight at once." default:"256"`
	URL         []string `group:"sale" help:"Base URLs of running services to sell at, instead of one started here; each buyer goes to one of them. They are audited through --database-url." placeholder:"URL"`
	APIKey      string   `group:"sale" name:"api-key" env:"INVENTORY_API_KEY" help:"API key with scope admin for the services of --url. Better in the environment, where other users do not see it." placeholder:"KEY"`
	JSON        bool     `help:"Print one JSON object."`
	watchFlags
}

// patience is how long a buyer tries to get an answer.
const patience = 20 * time.Second

var errSaleFailed = errors.New("the sale did not add up")

// Help shows examples.
func (demoCommand) Help() string {
	return `Examples:

    inventory demo
    inventory demo --quantity 1-5 --json
    inventory demo --watch
    inventory demo --url http://a:8080,http://b:8080 --database-url postgres://…`
}

// Validate returns an error if a value is out of range.
func (c *demoCommand) Validate() error {
	switch {
	case c.Stock < 0 || c.Stock > stock.MaxStock:
		return fmt.Errorf("--stock must be 0 to %d", stock.MaxStock)
	case c.Segments < 1 || c.Segments > stock.MaxSegments:
		return fmt.Errorf("--segments must be 1 to %d", stock.MaxSegments)
	case c.Buyers < 1:
		return errors.New("--buyers must be 1 or more")
	case c.Concurrency < 1:
		return errors.New("--concurrency must be 1 or more")
	case len(c.URL) > 0 && c.DatabaseURL == "":
		return errors.New("--url needs --database-url, to audit the sale")
	case c.Watch && len(c.URL) > 0:
		return errors.New("--watch starts services of its own, and does not go with --url")
	case c.Watch && c.RedisURL != app.Embedded:
		return errors.New("--watch has a Redis of its own, which it can stop, and does not go with --redis-url")
	case c.Open && !c.Watch:
		return errors.New("--open needs --watch")
	default:
		return nil
	}
}

// Run holds the sale.
func (c *demoCommand) Run(ctx context.Context, s cli.Streams) (err error) {
	if c.DatabaseURL == "" {
		folder, err := os.MkdirTemp("", "inventory-demo-")
		if err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		c.DatabaseURL = "sqlite:" + filepath.Join(folder, "inventory.db")
	}
	if c.Watch {
		return c.watch(ctx, s)
	}
	if len(c.URL) == 0 {
		service, err := c.startService(ctx, s.Err)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, service.Close(context.WithoutCancel(ctx))) }()
	}
	sale := &sale{
		sku: "demo-" + uuid.NewString(), Stock: c.Stock, Segments: c.Segments, Requests: c.Buyers, quantity: c.Quantity, latencies: latency.New(),
	}
	for _, url := range c.URL {
		service, err := client.NewService(url, c.Concurrency, patience, client.WithKey(c.APIKey))
		if err != nil {
			return usageError{err}
		}
		defer service.Close()
		sale.services = append(sale.services, service)
	}
	if err := sale.run(ctx, c.Concurrency, s.Err); err != nil {
		return err
	}
	audit, err := auditOf(ctx, c.DatabaseURL, sale.sku, nil)
	if err == nil && len(audit.SKUs) == 0 {
		err = fmt.Errorf("SKU %s is not in the database that --database-url names", sale.sku)
	}
	if err != nil {
		return err
	}
	sale.compare(audit.SKUs[0])
	if c.JSON {
		err = json.NewEncoder(s.Out).Encode(sale)
	} else {
		sale.print(s)
	}
	if err == nil && !sale.AuditOK {
		err = errSaleFailed
	}
	return err
}

// startService starts a service in this process.
func (c *demoCommand) startService(ctx context.Context, logTo io.Writer) (*app.App, error) {
	log := slog.New(slog.NewTextHandler(logTo, nil))
	app.SpendMemory(log)
	a, err := app.Start(ctx, app.Config{
		DatabaseURL: c.DatabaseURL, RedisURL: c.RedisURL, Lock: c.Lock, DrainTimeout: patience,
		Logger: log,
	})
	if err == nil {
		c.URL = []string{a.URL()}
	}
	return a, err
}

// quantity is a number of units, or a range to draw from.
type quantity struct{ least, most int64 }

// UnmarshalText reads "3" or "1-5".
func (q *quantity) UnmarshalText(text []byte) error {
	from, to, isRange := strings.Cut(string(text), "-")
	if !isRange {
		to = from
	}
	least, err1 := strconv.ParseInt(from, 10, 64)
	most, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || least < 1 || most < least || most > stock.MaxStock {
		return fmt.Errorf("must be a number such as 1, or a range such as 1-5, of 1 to %d", stock.MaxStock)
	}
	q.least, q.most = least, most
	return nil
}

// watchFlags are the flags of the demo in a browser.
type watchFlags struct {
	Watch       bool   `group:"watch" help:"Show sales in a browser, until Ctrl-C: the console, and a classroom in which you sell and break things."`
	WatchListen string `group:"watch" help:"Address for the browser, HOST:PORT, on loopback." default:"127.0.0.1:8090"`
	Open        bool   `group:"watch" help:"Also open the browser."`
}

// watch opens the classroom until ctx ends.
func (c *demoCommand) watch(ctx context.Context, s cli.Streams) (err error) {
	log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	app.SpendMemory(log)
	listener, err := app.ListenOnLoopback(ctx, c.WatchListen)
	if err != nil {
		return fmt.Errorf("--watch-listen: %w", err)
	}
	defer listener.Close()
	school, err := classroom.Open(ctx, classroom.Config{DatabaseURL: c.DatabaseURL, Lock: c.Lock, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, school.Close(context.WithoutCancel(ctx))) }()
	address := "http://" + listener.Addr().String()
	s.Printf("Classroom  %s/classroom\nConsole    %s/console\n\nCtrl-C ends both.\n", address, address)
	if c.Open {
		if err := browser.OpenURL(address + "/classroom"); err != nil {
			return err
		}
	}
	server := &http.Server{Handler: school.Handler(), ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // cuts connections: streams of events do not end by themselves
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", address, err)
	}
	return nil
}
