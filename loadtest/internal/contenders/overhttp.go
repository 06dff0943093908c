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
	noop, err := w.serveNoop(ctx)
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
