package contenders

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
)

var (
	//go:embed fill_random.sql
	fillRandomSQL string
	//go:embed fill_growing.sql
	fillGrowingSQL string
	//go:embed take_filled.sql
	takeFilledSQL string
)

const (
	emptyName   = "inventory, empty table"
	randomName  = "inventory, full table, random ids"
	growingName = "inventory, full table, growing ids"
)

// manyOrders compares a SKU that has sold millions with a new one, each in a database of its own. Where the ids have grown, those
// of new orders grow, too.
func manyOrders(ctx context.Context, w *world) (entrants []*entrant, err error) {
	empty, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	entrants = append(entrants, empty.entrant(offer{name: emptyName, traffic: traffic{connections: w.Scale.many()}}))
	for _, full := range []struct {
		name, fill string
		growing    bool
	}{{randomName, fillRandomSQL, false}, {growingName, fillGrowingSQL, true}} {
		site, sku, err := w.serveFilled(ctx, full.fill)
		if err != nil {
			return nil, err
		}
		entrants = append(entrants, site.entrant(offer{name: full.name, sku: sku, traffic: traffic{connections: w.Scale.many(), growing: full.growing}}))
	}
	return entrants, nil
}

// serveFilled starts the service on a database in which a SKU has many orders.
func (w *world) serveFilled(ctx context.Context, fill string) (s *site, sku string, err error) {
	databaseURL, err := w.postgres(ctx)
	if err != nil {
		return nil, "", err
	}
	if s, err = w.serveService(ctx, databaseURL, w.URLs.RedisURL); err != nil {
		return nil, "", err
	}
	if sku, err = s.putUp(ctx); err != nil {
		return nil, "", err
	}
	if err := w.fill(ctx, databaseURL, fill, sku); err != nil {
		return nil, "", fmt.Errorf("fill the table of orders: %w", err)
	}
	w.expected.Filled(sku, int64(w.Scale.Orders))
	return s, sku, nil
}

// fill adds orders to a SKU, and leaves the table as it is after a while: vacuumed, and with statistics.
func (w *world) fill(ctx context.Context, databaseURL, fill, sku string) error {
	err := servers.Connected(ctx, databaseURL, func(connection *pgx.Conn) error {
		return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, fill, sku, w.Scale.Orders, w.Scale.Segments); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, takeFilledSQL, sku)
			return err
		})
	})
	if err != nil {
		return err
	}
	return servers.Execute(ctx, databaseURL, "VACUUM (ANALYZE) deductions")
}

func manyOrdersTargets(s Scale) []experiment.Target {
	toEmpty := func(ids, name string, bound float64) []experiment.Target {
		return s.inParts(fmt.Sprintf("%d orders with %s ids, in parts of an empty table", s.Orders, ids), name, emptyName, 0, bound)
	}
	return append(toEmpty("random", randomName, 0.75), toEmpty("growing", growingName, 0.90)...)
}
