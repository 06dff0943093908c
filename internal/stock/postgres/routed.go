package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// OpenNode returns a store on the connections to a node of Citus. It connects for its first statement, because the node may be
// gone.
func OpenNode(ctx context.Context, databaseURL string, configure ...func(*pgxpool.Config)) (*Store, error) {
	return openLater(ctx, databaseURL, 0, nil, append([]func(*pgxpool.Config){func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["citus.enable_manual_changes_to_shards"] = "on" // the rows of shards
	}}, configure...)...)
}

// OpenCoordinator returns a store on a coordinator of Citus. It takes orders of several SKUs, which span nodes: see [Store.Order].
//
// Citus plans no statement without the values of its parameters. Sessions on other nodes get only the settings that a
// transaction makes.
func OpenCoordinator(ctx context.Context, databaseURL string, configure ...func(*pgxpool.Config)) (*Store, error) {
	texts := routedTexts()
	return openLater(ctx, databaseURL, 0, &dialect{
		routed: true,
		begin:  fmt.Sprintf(`SET LOCAL lock_timeout = '%s'; SET LOCAL idle_in_transaction_session_timeout = '%s'`, routedWait, idleInTransaction),
		translate: func(statement string) string {
			if text, other := texts[statement]; other {
				return text
			}
			return statement
		},
	}, append([]func(*pgxpool.Config){func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
		c.ConnConfig.RuntimeParams["citus.propagate_set_commands"] = "local"
		c.ConnConfig.RuntimeParams["citus.multi_shard_modify_mode"] = "sequential" // over one connection to each node
	}}, configure...)...)
}

// routedTexts returns, by statement that Citus cannot route, the one in its place. Citus routes a statement by a comparison of
// each table's key, and an insert by the key of the rows that it selects from: never by a parameter among the values. Parts of
// a WITH that write would be carried out one after another.
func routedTexts() map[string]string {
	return map[string]string{
		tables.InsertMerged:     routedMerged,
		tables.InsertDeductions: routedMerged + tables.OnKnown,
		tables.InsertParts:      routedParts,
		tables.CountBuyers:      routedCount,
		expireSQL:               routedExpire,
	}
}

var routedMerged = tables.WithInsertOf("k.sku_id", `
{insert}
FROM skus k, (SELECT $6::timestamptz AS at) AS decided,
     unnest($2::text[], $3::integer[], $4::bigint[], $5::integer[], {texts}) AS asked (o, q, r, s, {names})
WHERE k.sku_id = $1
ORDER BY o COLLATE "C"`, 7)

const routedParts = `
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT k.sku_id, o, s, q FROM skus k, unnest($2::text[], $3::integer[], $4::integer[]) AS part (o, s, q) WHERE k.sku_id = $1`

const routedCount = `
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT k.sku_id, b, q, $4::bigint FROM skus k, unnest($2::text[], $3::bigint[]) AS asked (b, q) WHERE k.sku_id = $1 AND q <= $4
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most`

// Citus creates a trigger in each shard only with the first setting. It is safe here: the trigger writes only rows of its node.
const allowTriggers = `SET LOCAL citus.enable_unsafe_triggers = on; SET LOCAL citus.multi_shard_modify_mode = 'sequential'`

// changeRouted runs the statements of a file one by one: Citus repeats a message on the nodes, with all that is in it.
func changeRouted(ctx context.Context, tx transaction, statements string) error {
	for statement := range strings.SplitSeq(allowTriggers+";\n\n"+statements, ";\n\n") {
		if err := tx.Exec(ctx, patientMark+statement); err != nil {
			return err
		}
	}
	return nil
}

// A row that is found by its ctid is in the same shard, which Citus cannot know.
var routedExpire = strings.ReplaceAll(expireSQL, "WHERE n.ctid =", "WHERE n.sku_id = $1 AND n.ctid =")

//go:embed placed.sql
var placedSQL string

// Placed is a shard and where it is.
type Placed struct {
	Shard
	Low  int32 // lowest hash of its keys
	Host string
	Port int
}

// Placements reads where the shards are, by their lowest hash. Every node knows.
func (s *Store) Placements(ctx context.Context) ([]Placed, error) {
	return tables.All(ctx, s.pool, func(row tables.Row) (p Placed, err error) {
		var names []string
		var ids []int64
		err = row.Scan(&p.ID, &p.Low, &p.Host, &p.Port, &names, &ids)
		p.Tables = make(map[string]string, len(names))
		for i, name := range names {
			p.Tables[name] = fmt.Sprintf("%s_%d", name, ids[i])
		}
		return p, err
	}, placedSQL)
}

const selectLineSKUs = `SELECT sku_id FROM order_lines WHERE order_id = $1 ORDER BY sku_id`

// PlacedOrder reads an order and the SKUs of its lines, from the shard of its id. Nil: there is none.
func (s *Store) PlacedOrder(ctx context.Context, orderID string) (order *stock.PlacedOrder, skus []string, err error) {
	order, err = tables.Order(ctx, s.pool, orderID)
	if order == nil || err != nil {
		return nil, nil, err
	}
	skus, err = tables.All(ctx, s.pool, tables.Value[string], selectLineSKUs, orderID)
	return order, skus, err
}

const selectSKUsOfOrders = `SELECT order_id, array_agg(sku_id) FROM order_lines WHERE order_id = ANY ($1::text[]) GROUP BY order_id`

// SKUsOfOrders reads the SKUs of the lines that orders have in a shard.
func (s *Store) SKUsOfOrders(ctx context.Context, orderIDs []string) (map[string][]string, error) {
	skus := make(map[string][]string)
	return skus, s.pool.Each(ctx, tables.Into(skus), selectSKUsOfOrders, orderIDs)
}

const unlist = `
WITH unlisted AS (
    DELETE FROM order_lines WHERE sku_id = $1 AND order_id = ANY ($2::text[]) RETURNING order_id
)
UPDATE orders SET pruned = true WHERE order_id IN (SELECT order_id FROM unlisted)`

// Unlist removes the lines of a SKU from orders in a shard, and marks the orders as pruned.
func (s *Store) Unlist(ctx context.Context, sku string, orderIDs []string) error {
	return s.inTx(ctx, time.Time{}, func(tx transaction) error {
		return tx.Exec(ctx, unlist, sku, orderIDs)
	})
}

// OrderLine is a line of an order of several SKUs.
type OrderLine struct{ OrderID, SKU string }

const selectOrderLines = `SELECT order_id, sku_id FROM order_lines WHERE $1 = '' OR sku_id = $1`

// OrderLines reads the lines of the orders of a shard, those of one SKU if it is not "".
func (s *Store) OrderLines(ctx context.Context, sku string) ([]OrderLine, error) {
	return tables.All(ctx, s.pool, func(row tables.Row) (line OrderLine, err error) {
		err = row.Scan(&line.OrderID, &line.SKU)
		return line, err
	}, selectOrderLines, sku)
}

const selectPrepared = `SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND gid LIKE 'citus%'`

// Prepared reads the names of transactions over nodes that are between their two phases here.
func (s *Store) Prepared(ctx context.Context) ([]string, error) {
	return tables.All(ctx, s.pool, tables.Value[string], selectPrepared)
}

const selectNodes = `SELECT groupid, nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' AND isactive ORDER BY groupid`

// Node is a server of a cluster.
type Node struct {
	Group   int
	Address string // HOST:PORT
}

// Nodes reads which servers the cluster has.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	return tables.All(ctx, s.pool, func(row tables.Row) (n Node, err error) {
		var host string
		var port int
		err = row.Scan(&n.Group, &host, &port)
		n.Address = net.JoinHostPort(host, strconv.Itoa(port))
		return n, err
	}, selectNodes)
}
