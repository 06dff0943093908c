package contenders

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

const bareName = "bare transaction"

// oneCaller compares what an order costs whom nobody disturbs: through the service, and by the least that is durable.
// They take turns in short rounds.
func oneCaller(ctx context.Context, w *world) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w)
	if err != nil {
		return nil, err
	}
	for _, d := range []design{inventory(), inventoryNoLocks(), inventoryEmbedded(), bareTransaction()} {
		e, err := m.entrant(ctx, d, 1)
		if err != nil {
			return nil, err
		}
		entrants = append(entrants, e)
	}
	return entrants, nil
}

// bareTransaction is BEGIN, INSERT, UPDATE, COMMIT over one connection.
func bareTransaction() design {
	return design{name: bareName, open: func(ctx context.Context, m *market, _ int) (shop, error) {
		connection, err := pgx.Connect(ctx, m.databaseURL)
		if err != nil {
			return shop{}, fmt.Errorf("reach PostgreSQL: %w", err)
		}
		m.world.onClose(connection.Close)
		return shop{prepare: m.create(1), sell: func(ctx context.Context, o crowd.Order) (crowd.Outcome, error) {
			err := pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, insertOrderSQL, o.SKU, 0, o.ID); err != nil {
					return err
				}
				tag, err := tx.Exec(ctx, takeUnitsSQL, o.SKU, 0)
				if err == nil && tag.RowsAffected() == 0 {
					err = errors.New("nothing is left")
				}
				return err
			})
			return crowd.Accepted, err
		}}, nil
	}}
}

func oneCallerTargets(Scale) []experiment.Target {
	return []experiment.Target{{
		Name: "inventory, one caller, p50 in parts of a bare transaction's",
		Of:   experiment.Times(p50, at(inventoryName, 1), at(bareName, 1)), Sign: report.LessThan, Bound: 1.2,
	}}
}
