package years

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// walOrders is how many orders of each kind are written after a checkpoint. The first change of a page after a checkpoint logs all of it,
// so ids decide how many pages are logged.
const walOrders = 1000

const walNote = "After a checkpoint, the first change of a page logs the whole page. Random ids change another page of each index for each order; " +
	"rising ids change the same ones. wal_compression is a setting of the server."

// compressed is the parameter of a URL that sets wal_compression for a session.
const compressed = "options=-c%20wal_compression%3Dzstd"

// mayCompress asks whether the user may set that, and the server can do it.
const mayCompress = `SELECT rolsuper AND 'zstd' = ANY (enumvals) FROM pg_roles, pg_settings
	WHERE rolname = current_user AND name = 'wal_compression'`

// orderIDs makes the order ids of a shop.
type orderIDs struct {
	name string
	next func() string
}

// kindsOfIDs are random ids, which go to any page of an index, and rising ones, which follow each other.
func (c Config) kindsOfIDs() []orderIDs {
	source := rand.New(rand.NewPCG(c.Seed, 0)) //nolint:gosec // no secret
	var n int
	return []orderIDs{
		{"random (UUIDv4)", func() string {
			var id uuid.UUID
			for i := range id {
				id[i] = byte(source.UintN(256))
			}
			return id.String()
		}},
		{"rising (as UUIDv7 and ULID are)", func() string {
			n++
			return fmt.Sprintf("ffffffff-%04x-7000-8000-%012x", n>>16, n)
		}},
	}
}

// writeAheadLog measures how much is written ahead for an order, by the kind of its id, and with random ids also by a server that
// compresses.
func (c Config) writeAheadLog(ctx context.Context, url string) (*report.Table, error) {
	if err := restock(ctx, url); err != nil {
		return nil, err
	}
	t := &report.Table{Columns: []string{"order ids", "bytes of WAL, order of one SKU", "bytes of WAL, basket of three"}}
	kinds := c.kindsOfIDs()
	for _, ids := range kinds {
		if err := logOf(ctx, t, ids.name, url, ids); err != nil {
			return nil, err
		}
	}
	var compresses bool
	err := servers.Connected(ctx, url, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, mayCompress).Scan(&compresses) })
	if random := kinds[0]; err == nil && compresses {
		err = logOf(ctx, t, random.name+", wal_compression zstd", withParameter(url, compressed), random)
	}
	return t, err
}

// withParameter returns a URL with one more parameter.
func withParameter(url, parameter string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameter
	}
	return url + "?" + parameter
}

// logOf adds a row of the table.
func logOf(ctx context.Context, t *report.Table, name, url string, ids orderIDs) error {
	single, err := logged(ctx, url, ids, takeUnit(hot, 0, false))
	if err != nil {
		return fmt.Errorf("orders with ids that are %s: %w", name, err)
	}
	several, err := logged(ctx, url, ids, basket)
	if err != nil {
		return fmt.Errorf("baskets with ids that are %s: %w", name, err)
	}
	t.Add(name, single, several)
	return nil
}

// restock gives the SKUs of a basket enough units in each segment.
func restock(ctx context.Context, url string) (err error) {
	store, err := postgres.Open(ctx, url, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, sku := range []string{hot, untaken, another} {
		if _, err := store.Move(ctx, stock.Movement{SKU: sku, Ref: "for the log", Kind: stock.Restocked, Quantity: 100 * walOrders}); err != nil {
			return err
		}
	}
	return nil
}

// logged returns how many bytes are written ahead for an order.
func logged(ctx context.Context, url string, ids orderIDs, write func(context.Context, *postgres.Store, string) error) (each float64, err error) {
	store, err := postgres.Open(ctx, url, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var bytes int64
	err = servers.Connected(ctx, url, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `CHECKPOINT`); err != nil {
			return err
		}
		var before string
		if err := conn.QueryRow(ctx, `SELECT pg_current_wal_insert_lsn()::text`).Scan(&before); err != nil {
			return err
		}
		for range walOrders {
			if err := write(ctx, store, ids.next()); err != nil {
				return err
			}
		}
		return conn.QueryRow(ctx, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1::text::pg_lsn)::bigint`, before).Scan(&bytes)
	})
	return float64(bytes) / walOrders, err
}
