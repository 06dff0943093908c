package contenders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
)

// design is a way to sell a hot SKU.
type design struct {
	name string
	ours bool
	// open makes a shop of this design for some callers at once.
	open func(ctx context.Context, m *market, callers int) (shop, error)
}

// shop is a design at work.
type shop struct {
	prepare func(ctx context.Context, sku string) error // puts a SKU up for sale
	sell    crowd.Seller
	// after is called after each round of a SKU; nil: nothing is to be done.
	after func(ctx context.Context, sku string) error
}

// designs are all that sell inside the process. Those of others are described in reference books and blogs.
func designs() []design {
	return []design{
		oneRow(), oneLock(bsmLocks()), oneLock(redsyncLocks()), textbook(), textbookInOneStatement(), freeRows(), skipLocked(),
		luaStream(), inventory(), inventoryNoLocks(), inventoryEmbedded(),
	}
}

// inProcess lets all designs sell to some, and to many callers.
func inProcess(ctx context.Context, w *world) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, callers := range w.scale.Callers {
		for _, d := range designs() {
			e, err := m.entrant(ctx, d, callers)
			if err != nil {
				return nil, err
			}
			entrants = append(entrants, e)
		}
	}
	return entrants, nil
}

// warmUp is how long a shop sells before it is measured.
const warmUp = 20 * time.Millisecond

// entrant opens a shop and warms it up.
func (m *market) entrant(ctx context.Context, d design, callers int) (*entrant, error) {
	s, err := d.open(ctx, m, callers)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", d.name, err)
	}
	e := &entrant{name: d.name, ours: d.ours, callers: callers}
	e.measure = func(ctx context.Context) (round, error) { return s.round(ctx, callers, m.world.scale.Window) }
	warm, err := s.round(ctx, callers, warmUp)
	if warm.sku != "" {
		m.world.told.Add(warm.sku, warm.counts.Accepted, warm.unheard)
	}
	if err != nil { // and not the whole case
		e.measure = func(context.Context) (round, error) { return round{}, fmt.Errorf("warm up: %w", err) }
	}
	return e, nil
}

// round sells a fresh SKU.
func (s shop) round(ctx context.Context, callers int, window time.Duration) (round, error) {
	sku := servers.NewName("hot-")
	if err := s.prepare(ctx, sku); err != nil {
		return round{}, fmt.Errorf("put a SKU up for sale: %w", err)
	}
	sold, err := crowd.Buy(ctx, sku, callers, 0, window, s.sell)
	if s.after != nil {
		err = errors.Join(err, s.after(context.WithoutCancel(ctx), sku)) // it is for the audit
	}
	return roundOf(sold, sku), err
}

// inProcessTargets are about many callers, where batches pay.
func inProcessTargets(s Scale) []experiment.Target {
	many := s.many()
	return []experiment.Target{
		atLeast(fmt.Sprintf("inventory, %d callers, in parts of textbook segments", many), counted, at(inventoryName, many), at(textbookName, many), 20),
		atLeast(fmt.Sprintf("inventory, %d callers, in parts of Redis Lua", many), counted, at(inventoryName, many), at(luaName, many), 1),
	}
}

// hot is a SKU that will not be sold out.
func hot(sku string, segments int) stock.NewSKU {
	return stock.NewSKU{SKU: sku, Stock: stock.MaxStock, Segments: segments}
}
