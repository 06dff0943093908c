package tables

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// What creates a SKU, and what ends its sale.
const (
	InsertSKU = `
INSERT INTO skus (sku_id, name, initial, segments, created_at, sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
                  max_reserve_us)
VALUES ($1, $2, $3, $4, coalesce($5::timestamptz, clock_timestamp()), $6, $7, nullif($8::bigint, 0), nullif($9::integer, 0),
        nullif($10::bigint, 0))
ON CONFLICT (sku_id) DO NOTHING
RETURNING created_at`

	InsertSegments = `
INSERT INTO stock_segments (sku_id, segment, available)
SELECT $1, n - 1, a FROM unnest($2::bigint[]) WITH ORDINALITY AS spread (a, n)`

	ArchiveSegments = `UPDATE stock_segments SET layout = $2, version = version + 1 WHERE sku_id = $1`

	ArchiveSKU = `UPDATE skus SET archived_at = coalesce($2::timestamptz, clock_timestamp()) WHERE sku_id = $1`
)

// CreateSKU implements [stock.Store].
func (b Base) CreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (created bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		var since time.Time
		created, err = One(ctx, tx, []any{(*Time)(&since)}, InsertSKU, sku.SKU, sku.Name, sku.Stock, sku.Segments, At(at),
			Instant(sku.SaleStartsAt), Instant(sku.SaleEndsAt), sku.PerBuyerLimit, sku.MaxQuantity, sku.MaxReserveFor.Microseconds())
		if err != nil {
			return err
		}
		if !created {
			return checkReplay(ctx, tx, sku)
		}
		if err := sku.CheckWindow(since); err != nil {
			return err
		}
		write := &Statements{}
		write.Exec(InsertSegments, sku.SKU, stock.Spread(sku.Stock, sku.Segments))
		return tx.Send(ctx, write)
	})
	return created && err == nil, err
}

// checkReplay compares a SKU that is to be created with the one that is there already.
func checkReplay(ctx context.Context, q Querier, sku stock.NewSKU) error {
	there := stock.NewSKU{SKU: sku.SKU}
	columns := append([]any{&there.Name, &there.Stock, &there.Segments}, Terms(&there.Terms)...)
	err := Single(ctx, q, columns, `SELECT k.name, k.initial, k.segments, `+TermsColumns+` FROM skus k WHERE k.sku_id = $1`, sku.SKU)
	if err != nil {
		return err
	}
	return sku.CheckReplay(there)
}

// Archive implements [stock.Store]. It notifies other processes, so that they forget that the SKU has sold out.
func (b Base) Archive(ctx context.Context, sku string, at time.Time) (archived bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		lock, write := &Statements{}, &Statements{}
		all := lock.LockAll(sku)
		if err := tx.Send(ctx, lock); err != nil {
			return err
		}
		if len(*all) == 0 {
			return stock.UnknownSKU(sku)
		}
		if archived = (*all)[0].Layout != stock.ArchivedLayout; archived {
			write.Exec(ArchiveSegments, sku, stock.ArchivedLayout)
			write.Exec(ArchiveSKU, sku, At(at))
			tx.Notify(write, sku)
		}
		return tx.Send(ctx, write)
	})
	return archived && err == nil, err
}
