package contenders

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

const (
	noopName = "noop"
	noopSKU  = "hot" // there is none
	// manyName sells many orders a request.
	manyName = "inventory, 64 orders a request"
	manySize = 64
)

// overHTTP compares the service with a handler that does nothing.
func overHTTP(ctx context.Context, w *world) (entrants []*entrant, err error) {
	noop, err := w.serve(ctx, job{Kind: workNoop})
	if err == nil {
		err = noop.warmUp(ctx, noopSKU)
	}
	if err != nil {
		return nil, err
	}
	service, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	databaseURL, err := w.sqlite()
	if err != nil {
		return nil, err
	}
	embedded, err := w.serveService(ctx, databaseURL, app.Embedded)
	if err != nil {
		return nil, err
	}
	gone, err := service.sellOut(ctx)
	if err != nil {
		return nil, fmt.Errorf("sell a SKU out: %w", err)
	}
	for _, connections := range w.scale.Callers {
		entrants = append(entrants,
			&entrant{name: noopName, callers: connections, measure: func(ctx context.Context) (round, error) {
				return noop.send(ctx, noopSKU, load{connections: connections})
			}},
			service.entrant(inventoryName, load{connections: connections}),
			service.entrant(manyName, load{connections: connections, together: manySize}),
			embedded.entrant("inventory embedded", load{connections: connections}),
			gone.entrant(connections),
		)
	}
	return entrants, nil
}

// site is a process that answers over HTTP.
type site struct {
	world *world
	url   string
}

// siteLimit is how long a site lives at most, whatever happens to the lab.
const siteLimit = time.Hour

// serve starts a site.
func (w *world) serve(ctx context.Context, j job) (*site, error) {
	process, err := worker.Start(context.WithoutCancel(ctx), w.worker, j, siteLimit)
	if err != nil {
		return nil, err
	}
	w.onClose(func(context.Context) error { return process.End() })
	url, err := process.Hear()
	return &site{w, url}, err
}

// serveService starts the service, and lets it sell for a moment.
func (w *world) serveService(ctx context.Context, databaseURL, redisURL string) (*site, error) {
	s, err := w.serve(ctx, job{
		Kind: workServe, KeysFile: w.keys.file, Job: crowd.Job{DatabaseURL: databaseURL, RedisURL: redisURL},
	})
	if err != nil {
		return nil, err
	}
	sku := servers.NewName("warm-")
	if err := s.create(ctx, hot(sku, w.scale.Segments)); err != nil {
		return nil, err
	}
	return s, s.warmUp(ctx, sku)
}

// warmUp lets a site answer for a moment, so that its connections are there.
func (s *site) warmUp(ctx context.Context, sku string) error {
	r, err := labClient{}.drive(ctx, load{url: s.deductions(sku), key: s.world.keys.buyer, connections: s.world.scale.many(), window: warmUp})
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if sku != noopSKU {
		s.world.told.Add(sku, r.counts.Accepted, r.unheard)
	}
	return nil
}

func (s *site) deductions(sku string) string { return s.url + "/v1/skus/" + sku + "/deductions" }

// serveReal starts the service on a database of its own.
func (w *world) serveReal(ctx context.Context) (*site, error) {
	databaseURL, err := w.postgres(ctx)
	if err != nil {
		return nil, err
	}
	return w.serveService(ctx, databaseURL, w.servers.RedisURL)
}

// send sends a load for a SKU.
func (s *site) send(ctx context.Context, sku string, l load) (round, error) {
	l.url, l.key, l.window = s.deductions(sku), s.world.keys.buyer, s.world.scale.Window
	if l.together > 0 {
		l.url, l.sku = s.url+"/v1/deductions", sku
	}
	return s.world.generator.drive(ctx, l)
}

// entrant sells a fresh SKU in each round.
func (s *site) entrant(name string, l load) *entrant { return s.entrantUnder(stock.Terms{}, name, l) }

// entrantUnder sells a fresh SKU of some terms in each round.
func (s *site) entrantUnder(terms stock.Terms, name string, l load) *entrant {
	return &entrant{name: name, ours: true, callers: l.connections, measure: func(ctx context.Context) (round, error) {
		sku, err := s.putUp(ctx, terms)
		if err != nil {
			return round{}, err
		}
		r, err := s.send(ctx, sku, l)
		r.sku = sku
		return r, err
	}}
}

// putUp puts a fresh SKU up for sale, which will not be sold out.
func (s *site) putUp(ctx context.Context, terms stock.Terms) (sku string, err error) {
	n := hot(servers.NewName("hot-"), s.world.scale.Segments)
	n.Terms = terms
	return n.SKU, s.create(ctx, n)
}

// patience is how long a request of preparation is sent again.
const patience = 10 * time.Second

// fleet is the generated client, for a few requests.
func (s *site) fleet() (*client.Fleet, error) {
	return client.NewFleet([]string{s.url}, sellers, patience, client.WithKey(s.world.keys.admin))
}

// create puts a SKU up for sale.
func (s *site) create(ctx context.Context, sku stock.NewSKU) error {
	fleet, err := s.fleet()
	if err != nil {
		return err
	}
	defer fleet.Close()
	answer, err := fleet.CreateSKU(ctx, sku.SKU, newSKU(sku))
	if err == nil {
		err = answer.Err()
	}
	if err != nil {
		return fmt.Errorf("put a SKU up for sale: %w", err)
	}
	return nil
}

// newSKU is a SKU as requests have it, without the terms that it does not have.
func newSKU(sku stock.NewSKU) client.NewSKU {
	n := client.NewSKU{Stock: sku.Stock, Segments: &sku.Segments}
	if sku.Terms.PerBuyerLimit > 0 {
		n.PerBuyerLimit = &sku.Terms.PerBuyerLimit
	}
	if !sku.Terms.SaleStartsAt.IsZero() {
		n.SaleStartsAt = &sku.Terms.SaleStartsAt
	}
	if !sku.Terms.SaleEndsAt.IsZero() {
		n.SaleEndsAt = &sku.Terms.SaleEndsAt
	}
	return n
}

// overHTTPTargets are for some connections, and for many.
func overHTTPTargets(s Scale) (targets []experiment.Target) {
	for _, t := range []struct {
		name   string
		bounds [2]float64
	}{
		{inventoryName, [2]float64{0.45, 0.60}},
		{manyName, [2]float64{1.5, 1.5}},
		{"inventory embedded", [2]float64{0.40, 0.65}},
		{soldOutName, [2]float64{1, 1}},
	} {
		for i, connections := range s.Callers {
			what := fmt.Sprintf("%s, %d connections, in parts of noop", t.name, connections)
			targets = append(targets, atLeast(what, counted, at(t.name, connections), at(noopName, connections), t.bounds[i]))
		}
	}
	return targets
}
