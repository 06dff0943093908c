package contenders

import (
	"context"
	"fmt"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/loadtest/internal/experiment"
)

const (
	noopName     = "noop"
	embeddedName = "inventory embedded"
	soldOutName  = "inventory sold out"
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
	for _, connections := range w.Scale.Callers {
		entrants = append(entrants,
			&entrant{name: noopName, callers: connections, measure: func(ctx context.Context) (round, error) {
				return noop.send(ctx, noopSKU, traffic{connections: connections})
			}},
			service.entrant(client.NewSKU{}, inventoryName, traffic{connections: connections}),
			service.entrant(client.NewSKU{}, manyName, traffic{connections: connections, together: manySize}),
			embedded.entrant(client.NewSKU{}, embeddedName, traffic{connections: connections}),
			gone(connections),
		)
	}
	return entrants, nil
}

// overHTTPTargets are for some connections, and for many.
func overHTTPTargets(s Scale) (targets []experiment.Target) {
	for _, t := range []struct {
		name   string
		bounds [2]float64
	}{
		{inventoryName, [2]float64{0.45, 0.60}},
		{manyName, [2]float64{1.5, 1.5}},
		{embeddedName, [2]float64{0.40, 0.65}},
		{soldOutName, [2]float64{1, 1}},
	} {
		for i, connections := range s.Callers {
			what := fmt.Sprintf("%s, %d connections, in parts of noop", t.name, connections)
			targets = append(targets, atLeast(what, at(t.name, connections), at(noopName, connections), t.bounds[i]))
		}
	}
	return targets
}

const (
	noReplaysName = "inventory, no replays"
	replaysName   = "inventory, 1% replays"
	// onePercent: one request in so many is sent again.
	onePercent = 100
)

// replays compares a sale in which some requests are sent again with one in which none is.
func replays(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	none := site.entrant(client.NewSKU{}, noReplaysName, traffic{connections: w.Scale.many()})
	some := site.entrant(client.NewSKU{}, replaysName, traffic{connections: w.Scale.many(), again: onePercent})
	none.answers, some.answers = true, true
	return []*entrant{none, some}, nil
}

func replaysTargets(s Scale) []experiment.Target {
	return []experiment.Target{
		atLeast("1% replays, answers in parts of those without", at(replaysName, s.many()), at(noReplaysName, s.many()), 0.90),
	}
}
