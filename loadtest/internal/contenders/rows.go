package contenders

import (
	"context"
	_ "embed"
	"math/rand/v2"

	"github.com/jackc/pgx/v5/pgconn"

	"inventory/loadtest/internal/crowd"
)

//go:embed take.sql
var takeSQL string

//go:embed take_unlocked.sql
var takeUnlockedSQL string

// oneRow is a conditional UPDATE of one row, without a lock beside the row's own.
func oneRow() design {
	return onRows("one row, no lock", func(*market) int { return 1 }, func(ctx context.Context, m *market, o crowd.Order) (crowd.Outcome, error) {
		return m.take(ctx, o, 0)
	})
}

// freeRows is that on one row of several, by chance.
func freeRows() design {
	return onRows("segment rows, no locks", (*market).segments, func(ctx context.Context, m *market, o crowd.Order) (crowd.Outcome, error) {
		return m.take(ctx, o, rand.IntN(m.segments()))
	})
}

// skipLocked is that on a row that nobody has locked, and a refusal where there is none.
func skipLocked() design {
	return onRows("segment rows, SKIP LOCKED", (*market).segments, func(ctx context.Context, m *market, o crowd.Order) (crowd.Outcome, error) {
		tag, err := m.pool.Exec(ctx, takeUnlockedSQL, o.SKU, o.ID)
		return inserted(tag, err)
	})
}

func onRows(name string, segments func(m *market) int, sell func(ctx context.Context, m *market, o crowd.Order) (crowd.Outcome, error)) design {
	return design{name: name, open: func(_ context.Context, m *market, _ int) (shop, error) {
		return shop{
			prepare: m.create(segments(m)),
			sell:    func(ctx context.Context, o crowd.Order) (crowd.Outcome, error) { return sell(ctx, m, o) },
		}, nil
	}}
}

func (m *market) segments() int { return m.world.scale.Segments }

// take takes an order's unit from a segment in one statement.
func (m *market) take(ctx context.Context, o crowd.Order, segment int) (crowd.Outcome, error) {
	tag, err := m.pool.Exec(ctx, takeSQL, o.SKU, segment, o.ID)
	return inserted(tag, err)
}

// inserted tells whether the order was written.
func inserted(tag pgconn.CommandTag, err error) (crowd.Outcome, error) {
	if err != nil || tag.RowsAffected() == 0 {
		return crowd.Refused, err
	}
	return crowd.Accepted, nil
}
