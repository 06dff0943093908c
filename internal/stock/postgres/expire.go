package postgres

import (
	_ "embed"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed expire.sql
var expireSQL string

// Expire implements [tables.Tx].
func (t transaction) Expire(statements *tables.Statements, sku string, at time.Time) *tables.Returned {
	back := &tables.Returned{Segments: make(map[int]int64)}
	statements.Each(func(row tables.Row) error {
		var segments, units []int64
		err := row.Scan(&back.Reservations, &segments, &units)
		for i, segment := range segments {
			back.Segments[int(segment)] = units[i]
		}
		return err
	}, expireSQL, sku, instant(at), stock.ExpireLimit)
	return back
}
