package contenders

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
)

//go:embed fill_random.sql
var fillRandomSQL string

//go:embed fill_growing.sql
var fillGrowingSQL string

//go:embed take_filled.sql
var takeFilledSQL string

const (
	emptyName   = "inventory, empty table"
	randomName  = "inventory, full table, random ids"
	growingName = "inventory, full table, growing ids"
)

// manyOrders compares the sale of a SKU of which millions have been sold with that of a new one. Each has a database
// of its own; where ids have grown, those of the buyers go on growing.
func manyOrders(ctx context.Context, w *world) (entrants []*entrant, err error) {
	l := load{connections: w.scale.many()}
	empty, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	entrants = append(entrants, empty.entrant(emptyName, l))
	for _, full := range []struct {
		name, fill string
		growing    bool
	}{{randomName, fillRandomSQL, false}, {growingName, fillGrowingSQL, true}} {
		site, sku, err := w.serveFilled(ctx, full.fill)
		if err != nil {
			return nil, err
		}
		l := l
		l.growing = full.growing
		entrants = append(entrants, &entrant{name: full.name, ours: true, callers: l.connections, measure: func(ctx context.Context) (round, error) {
			r, err := site.send(ctx, sku, l)
			r.sku = sku
			return r, err
		}})
	}
	return entrants, nil
}

// serveFilled starts the service on a database in which a SKU has many orders.
func (w *world) serveFilled(ctx context.Context, fill string) (s *site, sku string, err error) {
	databaseURL, err := w.postgres(ctx)
	if err != nil {
		return nil, "", err
	}
	s, err = w.serveService(ctx, databaseURL, w.servers.RedisURL)
	if err != nil {
		return nil, "", err
	}
	sku = servers.NewName("sold-")
	if err := s.create(ctx, hot(sku, w.scale.Segments)); err != nil {
		return nil, "", err
	}
	if err := w.fill(ctx, databaseURL, fill, sku); err != nil {
		return nil, "", fmt.Errorf("fill the table of orders: %w", err)
	}
	w.told.Filled(sku, int64(w.scale.Orders))
	return s, sku, nil
}

// fill adds orders to a SKU, and leaves the table as it is after a while: vacuumed, and with statistics.
func (w *world) fill(ctx context.Context, databaseURL, fill, sku string) (err error) {
	connection, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close(ctx)) }()
	err = pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fill, sku, w.scale.Orders, w.scale.Segments); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, takeFilledSQL, sku)
		return err
	})
	if err != nil {
		return err
	}
	_, err = connection.Exec(ctx, "VACUUM (ANALYZE) deductions")
	return err
}

func manyOrdersTargets(s Scale) []experiment.Target {
	empty := at(emptyName, s.many())
	return []experiment.Target{
		atLeast(fmt.Sprintf("%d orders with random ids, in parts of an empty table", s.Orders), counted, at(randomName, s.many()), empty, 0.75),
		atLeast(fmt.Sprintf("%d orders with growing ids, in parts of an empty table", s.Orders), counted, at(growingName, s.many()), empty, 0.90),
	}
}
