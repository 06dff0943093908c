package tail

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"inventory/loadtest/internal/openloop"
)

// rowsQuery reads the deductions of a SKU. In: its id. Out: order id, units.
const rowsQuery = `SELECT order_id, quantity FROM deductions WHERE sku_id = $1 AND status = 'committed'`

// rows are what a SKU has sold, by order id: there is one row for each at most, as the primary key has it.
func (s *shop) rows(ctx context.Context, sku string) (rows map[string]int64, err error) {
	connection, err := pgx.Connect(ctx, s.databaseURL)
	if err != nil {
		return nil, fmt.Errorf("read the orders that were sold: %w", err)
	}
	defer connection.Close(ctx)
	found, err := connection.Query(ctx, rowsQuery, sku)
	if err != nil {
		return nil, fmt.Errorf("read the orders that were sold: %w", err)
	}
	rows = map[string]int64{}
	var id string
	var units int64
	_, err = pgx.ForEachRow(found, []any{&id, &units}, func() error {
		rows[id] = units
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the orders that were sold: %w", err)
	}
	return rows, nil
}

// against tells in words what buyers were told and rows do not show, and the other way round.
func (c *course) against(rows map[string]int64) (wrong []string) {
	var lost, other, unasked, untold int
	for i, reply := range c.result.Replies {
		w := c.orders.all[i]
		units, sold := rows[w.id]
		switch served := reply.Outcome == openloop.Accepted || reply.Outcome == openloop.Replayed; {
		case reply.Outcome.Open() || reply.Outcome == openloop.Unreached:
			untold++
		case served && !sold:
			lost++
		case served && units != w.quantity:
			other++
		case !served && sold:
			unasked++
		}
	}
	for _, w := range []struct {
		count int
		what  string
	}{
		{lost, "orders that were accepted have no row"},
		{other, "orders have a row of another quantity"},
		{unasked, "orders that were refused, or never sent, have a row"},
		{untold, "orders were never told what became of them, also when they asked again"},
	} {
		if w.count > 0 {
			wrong = append(wrong, fmt.Sprintf("SKU %s: %d %s", c.sku, w.count, w.what))
		}
	}
	return wrong
}
