package contenders

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/worker"
)

const noopName = "noop"

// overHTTP compares the service with a handler that does nothing.
func overHTTP(ctx context.Context, w *world) (entrants []*entrant, err error) {
	noop, err := w.serve(ctx, job{Kind: workNoop})
	if err != nil {
		return nil, err
	}
	real, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	databaseURL, err := w.sqlite()
	if err != nil {
		return nil, err
	}
	embedded, err := w.serve(ctx, job{Kind: workServe, DatabaseURL: databaseURL, RedisURL: app.Embedded})
	if err != nil {
		return nil, err
	}
	gone, err := real.sellOut(ctx)
	if err != nil {
		return nil, fmt.Errorf("sell a SKU out: %w", err)
	}
	for _, connections := range w.scale.Callers {
		entrants = append(entrants,
			&entrant{name: noopName, callers: connections, measure: func(ctx context.Context) (round, error) {
				return noop.send(ctx, "hot", load{connections: connections})
			}},
			real.entrant(inventoryName, load{connections: connections}),
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

// serveReal starts the service on a database of its own.
func (w *world) serveReal(ctx context.Context) (*site, error) {
	databaseURL, err := w.postgres(ctx)
	if err != nil {
		return nil, err
	}
	return w.serve(ctx, job{Kind: workServe, DatabaseURL: databaseURL, RedisURL: w.servers.RedisURL})
}

// send sends a load for a SKU.
func (s *site) send(ctx context.Context, sku string, l load) (round, error) {
	l.url, l.window = s.url+"/v1/skus/"+sku+"/deductions", s.world.scale.Window
	return s.world.generator.drive(ctx, l)
}

// entrant sells a fresh SKU in each round.
func (s *site) entrant(name string, l load) *entrant {
	return &entrant{name: name, ours: true, callers: l.connections, measure: func(ctx context.Context) (round, error) {
		sku := newName("hot-")
		if err := s.create(ctx, hot(sku, s.world.scale.Segments)); err != nil {
			return round{}, err
		}
		r, err := s.send(ctx, sku, l)
		r.sku = sku
		return r, err
	}}
}

// patience is how long a request of preparation is sent again.
const patience = 10 * time.Second

// fleet is the generated client, for a few requests.
func (s *site) fleet() (*client.Fleet, error) {
	return client.NewFleet([]string{s.url}, sellers, patience)
}

// create puts a SKU up for sale.
func (s *site) create(ctx context.Context, sku stock.NewSKU) error {
	fleet, err := s.fleet()
	if err != nil {
		return err
	}
	defer fleet.Close()
	answer, err := fleet.CreateSKU(ctx, sku.SKU, client.NewSKU{Stock: sku.Stock, Segments: &sku.Segments})
	if err == nil {
		err = answer.Err()
	}
	if err != nil {
		return fmt.Errorf("put a SKU up for sale: %w", err)
	}
	return nil
}

// overHTTPTargets are for some connections, and for many.
func overHTTPTargets(c Case, s Scale) (targets []compare.Target) {
	for _, t := range []struct {
		name   string
		bounds [2]float64
	}{
		{inventoryName, [2]float64{0.45, 0.60}},
		{"inventory embedded", [2]float64{0.40, 0.65}},
		{soldOutName, [2]float64{1, 1}},
	} {
		for i, connections := range s.Callers {
			what := fmt.Sprintf("%s, %d connections, in parts of noop", t.name, connections)
			targets = append(targets, compare.AtLeast(what, c.entry(t.name, connections).Ratio, t.bounds[i]))
		}
	}
	return targets
}
