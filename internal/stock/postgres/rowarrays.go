package postgres

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"inventory/internal/stock"
)

// rowArrays are what unnest turns into rows of segments.
type rowArrays struct {
	skus, owners           []string
	segments               []int32
	layouts, tokens, units []int64
	starts, ends           instants
}

// add adds a row from which no units are wanted yet, and returns its number, from 1.
func (r *rowArrays) add(sku string, line stock.PlacedLine) int {
	r.skus, r.segments = append(r.skus, sku), append(r.segments, int32(line.Segment)) //nolint:gosec // there are 1024 at most
	r.layouts, r.units = append(r.layouts, line.Layout), append(r.units, 0)
	r.tokens, r.owners = append(r.tokens, line.Fence.Token), append(r.owners, line.Fence.Owner)
	r.starts = append(r.starts, instantOrNull(line.SaleWindow.StartsAt))
	r.ends = append(r.ends, instantOrNull(line.SaleWindow.EndsAt))
	return len(r.skus)
}

func (r *rowArrays) arguments() []any {
	return []any{r.skus, r.segments, r.layouts, r.tokens, r.owners, r.units, r.starts.orNull(), r.ends.orNull()}
}

// instants is an array of times; an element is null if there is none.
type instants []pgtype.Timestamptz

func (i instants) set(n int, t time.Time) { i[n] = instantOrNull(t) }

func instantOrNull(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}

// orNull returns null in place of the array if all are null, which is the usual case: unnest makes nulls of it.
func (i instants) orNull() any {
	if slices.ContainsFunc(i, func(t pgtype.Timestamptz) bool { return t.Valid }) {
		return []pgtype.Timestamptz(i)
	}
	return nil
}
