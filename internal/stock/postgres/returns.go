package postgres

import (
	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// queueReturns gives units back to segments and buyers, whose rows are locked.
func queueReturns(write *pgx.Batch, sku string, back stock.Returns) {
	var returned changes // by no lock's write
	for segment, units := range back.Segments {
		returned.add(segment, units, -back.Reserved[segment], stock.Fence{})
	}
	returned.queue(write, sku)
	buyers, units := unitsOf(back.Buyers)
	write.Queue(uncountBuyers, sku, buyers, units)
}
