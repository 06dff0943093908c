package postgres

import (
	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// queueReturns gives units back to segments and buyers, whose rows are locked.
func queueReturns(write *pgx.Batch, sku string, back stock.Returns) {
	segments, units := unitsOf(back.Segments)
	freed := make([]int64, len(segments))
	for i, segment := range segments {
		freed[i] = -back.Reserved[segment]
	}
	none := make([]int64, len(segments)) // it is no lock's write: the fences stay
	write.Queue(changeSegments, sku, segments, units, freed, none, make([]string, len(segments)))
	buyers, units := unitsOf(back.Buyers)
	write.Queue(uncountBuyers, sku, buyers, units)
}
