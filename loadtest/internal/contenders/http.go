package contenders

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
	"inventory/loadtest/internal/worker"
)

// Work does the job of a process that the lab has started: that of a crowd, or, with Noop, to answer without doing anything.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	j, lines, err := worker.Read[job](in)
	switch {
	case err != nil:
		return err
	case j.Noop:
		return serveNoop(lines, out)
	}
	return j.Do(ctx, lines, out)
}

type job struct {
	Noop bool `json:"noop"`
	crowd.Job
}

// serveNoop serves a plain Echo handler with nothing behind it, until its input is closed.
func serveNoop(lines *bufio.Scanner, out io.Writer) error {
	app.SpendMemory(nil) // as the service does
	e := echo.New()
	e.POST("/v1/skus/:sku/deductions", func(c echo.Context) error {
		var o order
		if err := c.Bind(&o); err != nil {
			return err
		}
		o.Status = "committed"
		return c.JSON(http.StatusCreated, o)
	})
	server := httptest.NewServer(e)
	defer server.Close()
	_, err := fmt.Fprintln(out, server.URL)
	if err == nil {
		lines.Scan() // until the input is closed
	}
	return err
}

// site is a process that answers over HTTP.
type site struct {
	world    *world
	url      string
	adminURL string // "": none has metrics
	redisURL string // ""
}

const (
	// siteLimit is how long a site lives at most.
	siteLimit = time.Hour
	// sellers are the requests of preparation that are under way at once.
	sellers = 16
	noopSKU = "hot" // there is none
)

// serveNoop starts a site that does nothing.
func (w *world) serveNoop(ctx context.Context) (*site, error) {
	process, err := worker.Start(context.WithoutCancel(ctx), w.Worker, job{Noop: true}, siteLimit)
	if err != nil {
		return nil, err
	}
	w.OnClose(process.End)
	url, err := process.ReadLine()
	return &site{world: w, url: url}, err
}

// serveService starts the service, and lets it sell for a moment.
func (w *world) serveService(ctx context.Context, databaseURL, redisURL string) (*site, error) {
	service, err := w.Process.Start(ctx, target.Job{DatabaseURL: databaseURL, RedisURL: redisURL, KeysFile: w.keys.file})
	if err != nil {
		return nil, err
	}
	w.OnClose(service.End)
	s := &site{w, service.URL, service.AdminURL, redisURL}
	sku, err := s.putUp(ctx)
	if err != nil {
		return nil, err
	}
	return s, s.warmUp(ctx, sku)
}

// serveReal starts the service on a database of its own.
func (w *world) serveReal(ctx context.Context) (*site, error) {
	databaseURL, err := w.postgres(ctx)
	if err != nil {
		return nil, err
	}
	return w.serveService(ctx, databaseURL, w.URLs.RedisURL)
}

// warmUp lets a site answer for a moment, so that its connections are there.
func (s *site) warmUp(ctx context.Context, sku string) error {
	r, err := drive(ctx, traffic{url: s.deductions(sku), key: s.world.keys.buyer, connections: s.world.Scale.many(), window: warmUp})
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if sku != noopSKU {
		s.world.expected.Add(sku, r.counts[load.Accepted], r.unanswered)
	}
	return nil
}

func (s *site) deductions(sku string) string { return s.url + "/v1/skus/" + sku + "/deductions" }

// send sends a load for a SKU.
func (s *site) send(ctx context.Context, sku string, l traffic) (round, error) {
	l.url, l.key, l.window = s.deductions(sku), s.world.keys.buyer, s.world.Scale.Window
	if l.together > 0 {
		l.url, l.sku = s.url+"/v1/deductions", sku
	}
	if l.lines > 0 {
		l.url = s.url + "/v1/orders"
	}
	if s.adminURL == "" {
		return drive(ctx, l)
	}
	sources := gauges.Sources{ServiceMetricsURLs: []string{s.adminURL + "/metrics"}}
	if s.redisURL != app.Embedded { // else neither server works for it
		sources.PostmasterPID = s.world.postmaster
	}
	if s.redisURL == s.world.URLs.RedisURL {
		sources.RedisPID = s.world.redisPID
	}
	watched := gauges.Start(ctx, sources, siteLimit)
	r, err := drive(ctx, l)
	r.spent = map[string]float64{}
	read := watched.Stop()
	for name, p := range map[string]gauges.Process{serviceCost: gauges.Service, postgresCost: gauges.PostgreSQL, redisCost: gauges.Redis} {
		if seconds := read.CPU(p); !math.IsNaN(seconds) {
			r.spent[name] = seconds
		}
	}
	return r, err
}

// offer is what an entrant sells over HTTP.
type offer struct {
	name    string
	sku     string // "": a fresh one in each round
	traffic traffic
	answers bool // all right answers count, and not sales alone
}

// entrant sells an offer. A repeated winner is answered 200; any other order of a sold-out SKU is refused.
func (s *site) entrant(o offer) *entrant {
	measure := func(ctx context.Context) (r round, err error) {
		sku := o.sku
		if sku == "" {
			if sku, err = s.putUp(ctx); err != nil {
				return round{}, err
			}
		}
		r, err = s.send(ctx, sku, o.traffic)
		switch {
		case len(o.traffic.winners) > 0 && err == nil:
			err = check(r)
		case len(o.traffic.winners) == 0 && sku != noopSKU:
			r.sku = sku
		}
		return r, err
	}
	return &entrant{name: o.name, ours: o.name != noopName, callers: o.traffic.connections, answers: o.answers, measure: measure}
}

// putUp puts a fresh SKU up for sale, which will not be sold out.
func (s *site) putUp(ctx context.Context) (sku string, err error) {
	sku = servers.NewName("hot-")
	return sku, s.create(ctx, sku, client.NewSKU{Stock: stock.MaxStock, Segments: &s.world.Scale.Segments})
}

// withServices does something with the admin's key.
func (s *site) withServices(do func(*load.Services) error) error {
	services, err := load.Open(load.Config{URLs: []string{s.url}, Key: s.world.keys.admin, Connections: sellers})
	if err != nil {
		return err
	}
	defer services.Close()
	return do(services)
}

// create puts a SKU up for sale.
func (s *site) create(ctx context.Context, sku string, n client.NewSKU) error {
	return s.withServices(func(services *load.Services) error { return services.Create(ctx, sku, n) })
}

// winnersReturn: one request in this many repeats an accepted order.
const winnersReturn = 10

// sellOut sells all of a new SKU, and returns the order ids of the winners.
func (s *site) sellOut(ctx context.Context) (sku string, winners []string, err error) {
	units := s.world.Scale.Units
	sku = servers.NewName("gone-")
	if err := s.create(ctx, sku, client.NewSKU{Stock: int64(units), Segments: &s.world.Scale.Segments}); err != nil {
		return "", nil, err
	}
	s.world.expected.Add(sku, int64(units), 0)
	err = s.withServices(func(services *load.Services) error {
		buying, ctx := errgroup.WithContext(ctx)
		buying.SetLimit(sellers)
		for range units {
			o := history.Operation{Kind: history.Deduct, ID: uuid.NewString(), Lines: []history.Line{{SKU: sku, Quantity: 1}}}
			winners = append(winners, o.ID)
			buying.Go(func() error { return services.Do(ctx, &o, load.Persistence{}) })
		}
		return buying.Wait()
	})
	return sku, winners, err
}

// check demands that every repeated winner is answered 200, and that no other order gets a unit. A request without an answer may
// be either.
func check(r round) error {
	if r.counts[load.Accepted] == 0 && r.counts[load.Replayed] <= r.repeated && r.counts[load.Replayed] >= r.repeated-r.unanswered {
		return nil
	}
	return fmt.Errorf("of a SKU that is sold out, %d were sold, and %d of %d repeated winners were answered 200, %d requests had no answer",
		r.counts[load.Accepted], r.counts[load.Replayed], r.repeated, r.unanswered)
}
