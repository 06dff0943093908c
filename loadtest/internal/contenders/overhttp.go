package contenders

import (
	"context"
	"fmt"

	"inventory/internal/app"
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
	noop, err := w.serve(ctx, job{Noop: true})
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
	gone, winners, err := service.sellOut(ctx)
	if err != nil {
		return nil, fmt.Errorf("sell a SKU out: %w", err)
	}
	for _, connections := range w.Scale.Callers {
		plain := traffic{connections: connections}
		entrants = append(entrants,
			noop.entrant(offer{name: noopName, sku: noopSKU, traffic: plain}),
			service.entrant(offer{name: inventoryName, traffic: plain}),
			service.entrant(offer{name: manyName, traffic: traffic{connections: connections, together: manySize}}),
			embedded.entrant(offer{name: embeddedName, traffic: plain}),
			service.entrant(offer{
				name: soldOutName, sku: gone, answers: true,
				traffic: traffic{connections: connections, again: winnersReturn, winners: winners},
			}),
		)
	}
	return entrants, nil
}

const (
	noReplaysName = "inventory, no replays"
	replaysName   = "inventory, 1% replays"
	// onePercent: one request in this many is sent again.
	onePercent = 100
)

// replays compares a sale in which some requests are sent again with one in which none is.
func replays(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	many := w.Scale.many()
	return []*entrant{
		site.entrant(offer{name: noReplaysName, answers: true, traffic: traffic{connections: many}}),
		site.entrant(offer{name: replaysName, answers: true, traffic: traffic{connections: many, again: onePercent}}),
	}, nil
}
