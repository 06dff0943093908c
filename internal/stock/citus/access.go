package citus

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
)

// How statements of package postgres reach the tables of a cluster:
//
//	of one SKU      ──> the lock of its shard, then the statement in the names of the shard's tables, at its node
//	of an order     ──> the coordinator, in words that Citus can route
var (
	//go:embed cluster.sql
	clusterFile embed.FS
	//go:embed shard.sql
	shardFile embed.FS
	//go:embed coordinator.sql
	coordinatorFile embed.FS
)

// statements returns the statements of package postgres and of a cluster, and those of a file in place of others.
func statements(file embed.FS) tables.Set {
	all := postgres.Statements()
	maps.Copy(all, tables.ReadSQL(clusterFile))
	maps.Copy(all, tables.ReadSQL(file))
	return all
}

// openNode returns a store on the connections to a node. It connects for its first statement, because the node may be gone.
func openNode(ctx context.Context, databaseURL string, configure ...func(*pgxpool.Config)) (*postgres.Store, error) {
	first := func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["citus.enable_manual_changes_to_shards"] = "on" // the rows of shards
	}
	access := postgres.Access{SQL: statements(clusterFile).Of}
	return postgres.OpenLater(ctx, databaseURL, 0, access, append([]func(*pgxpool.Config){first}, configure...)...)
}

// How long a transaction at the coordinator waits for a row. Citus finds a deadlock over several nodes after two seconds at the
// soonest. Sessions on other nodes get only the settings that a transaction makes.
const beginRouted = `SET LOCAL lock_timeout = '500ms'; SET LOCAL idle_in_transaction_session_timeout = '5s'; `

// openCoordinator returns a store on a coordinator. It takes orders of several SKUs, which span nodes.
//
// Citus plans no statement without the values of its parameters. It creates a trigger in each shard only if that is allowed, which
// is safe here: those of the outbox write only rows of their node.
func openCoordinator(ctx context.Context, databaseURL string, configure ...func(*pgxpool.Config)) (*postgres.Store, error) {
	first := func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
		c.ConnConfig.RuntimeParams["citus.propagate_set_commands"] = "local"
		c.ConnConfig.RuntimeParams["citus.multi_shard_modify_mode"] = "sequential" // over one connection to each node
		c.ConnConfig.RuntimeParams["citus.enable_unsafe_triggers"] = "on"
	}
	access := postgres.Access{SQL: statements(coordinatorFile).Of, Begin: beginRouted, Scattered: true, Orders: placeOrders}
	return postgres.OpenLater(ctx, databaseURL, 0, access, append([]func(*pgxpool.Config){first}, configure...)...)
}

// placed is a shard and where it is.
type placed struct {
	id     int64             // the shard of its first table
	tables map[string]string // the name there of each distributed table
	low    int32             // lowest hash of its keys
	host   string
	port   int
}

// access returns how statements reach the tables of a shard.
//
// Before each read or write, in the same transaction, comes a statement that waits while the shard is moved. If the shard has
// gone, that statement fails: see [shardGone].
func (p placed) access(all tables.Set) postgres.Access {
	var names []string
	for table, there := range p.tables {
		for _, before := range []string{"FROM ", "JOIN ", "INTO ", "UPDATE "} { // columns may have the name of a table
			names = append(names, before+table, before+there)
		}
	}
	rename := strings.NewReplacer(names...)
	var known sync.Map // the statements in the names of the shard, as far as they were sent
	return postgres.Access{
		Lock: fmt.Sprintf(`SELECT inventory_here(%d)`, p.id),
		SQL: func(name string) tables.SQL {
			if there, found := known.Load(name); found {
				return there.(tables.SQL)
			}
			sql := all.Of(name)
			sql.Text = rename.Replace(sql.Text)
			known.Store(name, sql)
			return sql
		},
	}
}

// readPlacements reads where the shards are, by their lowest hash. Every node knows.
func readPlacements(ctx context.Context, s *postgres.Store) ([]placed, error) {
	return tables.All(ctx, s.DB, func(row tables.Row) (p placed, err error) {
		var names []string
		var ids []int64
		err = row.Scan(&p.id, &p.low, &p.host, &p.port, &names, &ids)
		p.tables = make(map[string]string, len(names))
		for i, name := range names {
			p.tables[name] = fmt.Sprintf("%s_%d", name, ids[i])
		}
		return p, err
	}, "placements")
}

// The SQLSTATEs of a shard that is on another node: inventory_here raises the first one before anything is written, and the
// shard's tables may not exist any more. Citus has no SQLSTATE of its own for the last one, and does not translate its message.
const (
	gone           = "IN001"
	undefinedTable = "42P01"
	internalError  = "XX000"
)

// shardGone reports whether an error says that a shard is on another node now, or no longer exists: Citus splits shards. Nothing
// was written.
func shardGone(err error) bool {
	switch postgres.StateOf(err) {
	case gone, undefinedTable:
		return true
	case internalError:
		return strings.Contains(err.Error(), "could not find valid entry for shard")
	default:
		return false
	}
}
