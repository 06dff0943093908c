package tables

import (
	"context"
	"encoding/json"

	"inventory/internal/stock"
)

const movementColumns = `sku_id, ref, kind, quantity, coalesce(segments, 0), coalesce(terms, '{}'), reason, created_at`

// What reads movements.
const (
	SelectMovement  = `SELECT ` + movementColumns + ` FROM movements WHERE sku_id = $1 AND ref = $2`
	SelectMovements = `
SELECT ` + movementColumns + `
FROM movements WHERE sku_id = $1 AND (created_at, ref) > ($2, $3)
ORDER BY created_at, ref LIMIT $4`
)

// SameMovement holds a movement to the one of its ref that is there already.
func SameMovement(ctx context.Context, q Querier, m stock.Movement) error {
	there, err := All(ctx, q, movement, SelectMovement, m.SKU, m.Ref)
	switch {
	case err != nil:
		return err
	case there == nil:
		return ErrNoRow
	default:
		return m.CheckReplay(there[0])
	}
}

// Movements reads the ledger of a SKU behind a movement of a ref, and of a time in the form that the store keeps.
func Movements(ctx context.Context, q Querier, sku string, at any, ref string, limit int) ([]stock.Movement, error) {
	found, err := All(ctx, q, movement, SelectMovements, sku, at, ref, limit)
	if err == nil && found == nil {
		err = SKUExists(ctx, q, sku)
	}
	return found, err
}

func movement(row Row) (m stock.Movement, err error) {
	var terms []byte
	if err = row.Scan(&m.SKU, &m.Ref, &m.Kind, &m.Quantity, &m.Segments, &terms, &m.Reason, (*Time)(&m.At)); err == nil {
		err = json.Unmarshal(terms, &m.Terms)
	}
	return m, err
}
