package contenders

import (
	"context"
	_ "embed"
	"math/rand/v2"

	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed take.sql
var takeSQL string

//go:embed take_unlocked.sql
var takeUnlockedSQL string

// oneRow is a conditional UPDATE of one row, without a lock beside the row's own.
func oneRow() design {
	return onRows("one row, no lock", func(*market) int { return 1 }, func(ctx context.Context, m *market, o order) (outcome, error) {
		return m.take(ctx, o, 0)
	})
}

// freeRows is that on one row of several, by chance.
func freeRows() design {
	return onRows("segment rows, no locks", (*market).segments, func(ctx context.Context, m *market, o order) (outcome, error) {
		return m.take(ctx, o, rand.IntN(m.segments()))
	})
}

// skipLocked is that on a row that nobody has locked, and a refusal where there is none.
func skipLocked() design {
	return onRows("segment rows, SKIP LOCKED", (*market).segments, func(ctx context.Context, m *market, o order) (outcome, error) {
		tag, err := m.pool.Exec(ctx, takeUnlockedSQL, o.sku, o.id)
		return inserted(tag, err)
	})
}

func onRows(name string, segments func(m *market) int, sell func(ctx context.Context, m *market, o order) (outcome, error)) design {
	return design{name: name, open: func(_ context.Context, m *market, _ int) (shop, error) {
		return shop{
			prepare: m.create(segments(m)),
			sell:    func(ctx context.Context, o order) (outcome, error) { return sell(ctx, m, o) },
		}, nil
	}}
}

func (m *market) segments() int { return m.world.scale.Segments }

// take takes an order's unit from a segment in one statement.
func (m *market) take(ctx context.Context, o order, segment int) (outcome, error) {
	tag, err := m.pool.Exec(ctx, takeSQL, o.sku, segment, o.id)
	return inserted(tag, err)
}

// inserted tells whether the order was written.
func inserted(tag pgconn.CommandTag, err error) (outcome, error) {
	if err != nil || tag.RowsAffected() == 0 {
		return refused, err
	}
	return accepted, nil
}
