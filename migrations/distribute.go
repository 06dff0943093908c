package migrations

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed citus/here.sql
	hereSQL string
	//go:embed citus/outbox_table.sql
	outboxTable string
	//go:embed citus/outbox.sql
	numberOutbox string
)

// MaxShards bounds how many shards a database may have: each has tables of its own, and statements whose plans are kept.
const MaxShards = 1024

// Distribution is one thing that a database on Citus needs in addition to its schema.
type Distribution struct {
	What string
	Done bool // it was there already, or was created now
}

// sharded returns the tables that are distributed; those that others refer to come first. All are in one group: rows with the
// same key are on the same node. An order's row and its lines are in the shard of its id, so that together they show which
// deductions must be there.
func sharded() []struct{ table, key string } {
	return []struct{ table, key string }{
		{"skus", "sku_id"},
		{"stock_segments", "sku_id"},
		{"deductions", "sku_id"},
		{"deduction_parts", "sku_id"},
		{"amendments", "sku_id"},
		{"additions", "sku_id"},
		{"movements", "sku_id"},
		{"buyers", "sku_id"},
		{"pruned", "sku_id"},
		{"orders", "order_id"},
		{"order_lines", "order_id"},
		{"order_changes", "order_id"},
		{"forgotten", "name"},
	}
}

// Tables returns the names of the tables that have rows of SKUs and orders, each after those that it refers to.
func Tables() (names []string) {
	for _, t := range sharded() {
		names = append(names, t.table)
	}
	return names
}

// distribution is a step: what it is, a query that returns whether it was done, and the queries that do it.
type distribution struct {
	what, isDone string
	work         []string
	everywhere   []string // what is done on every node
	moves        bool     // it moves rows that were there
}

const (
	isDistributed = `SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = '%s'::regclass)`
	hasFunction   = `SELECT EXISTS (SELECT FROM pg_dist_object WHERE classid = 'pg_proc'::regclass
		AND objid = to_regprocedure('%s')::oid)`
	distributeFunction = `SELECT create_distributed_function('%s')`
	onAllNodes         = `SELECT coalesce(bool_and(success), false) FROM run_command_on_all_nodes($cmd$%s$cmd$)`

	here      = `inventory_here(bigint)`
	require   = `inventory_require(boolean, bigint)` // the migrations create it
	hasOutbox = `SELECT coalesce(bool_and(success AND result = 't'), false) FROM run_command_on_all_nodes($cmd$
		SELECT EXISTS (SELECT FROM pg_attrdef WHERE adrelid = to_regclass('outbox') AND pg_get_expr(adbin, adrelid) LIKE '%outbox_tie%')
			AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('outbox') AND attname = 'written_off' AND NOT attisdropped)
		$cmd$)`
)

// distributions returns all steps, in their order.
func distributions(shards int) []distribution {
	all := []distribution{
		{what: "the function inventory_here on every node", isDone: fmt.Sprintf(hasFunction, here), work: []string{hereSQL, fmt.Sprintf(distributeFunction, here)}},
		{what: "the function inventory_require on every node", isDone: fmt.Sprintf(hasFunction, require), work: []string{fmt.Sprintf(distributeFunction, require)}},
	}
	for i, t := range sharded() {
		create := fmt.Sprintf(`SELECT create_distributed_table('%s', '%s', colocate_with := 'skus')`, t.table, t.key)
		if i == 0 {
			create = fmt.Sprintf(`SELECT create_distributed_table('%s', '%s', colocate_with := 'none', shard_count := %d)`, t.table, t.key, shards)
		}
		all = append(all, distribution{
			what: t.table + " by " + t.key, isDone: fmt.Sprintf(isDistributed, t.table), work: []string{create}, moves: true,
		})
	}
	return append(all,
		distribution{
			what: "schema_migrations on every node", isDone: fmt.Sprintf(isDistributed, "schema_migrations"),
			work: []string{`SELECT create_reference_table('schema_migrations')`},
		},
		// The outbox's key has no SKU, and its order is the order of one server's transactions.
		distribution{
			what: "an outbox on every node", isDone: hasOutbox,
			everywhere: []string{outboxTable, `CREATE SEQUENCE IF NOT EXISTS outbox_tie`, numberOutbox},
		})
}

// Distribute turns a database with an up-to-date schema into one of Citus, and returns all steps. Completed steps stay.
// It is one transaction, and no other one writes meanwhile. A dry run only returns what there is to do.
func Distribute(ctx context.Context, coordinatorURL string, shards int, dryRun bool) (done []Distribution, err error) {
	conn, err := pgx.Connect(ctx, coordinatorURL)
	if err != nil {
		return nil, fmt.Errorf("distribute: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var there bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')`).Scan(&there); err != nil {
		return nil, fmt.Errorf("distribute: %w", err)
	}
	if !there {
		return nil, errors.New("distribute: the database has no extension citus: create it on every node, and add the nodes")
	}
	moved := false
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, step := range distributions(shards) {
			state := Distribution{What: step.what}
			if err := tx.QueryRow(ctx, step.isDone).Scan(&state.Done); err != nil {
				return fmt.Errorf("look for %s: %w", step.what, err)
			}
			if !state.Done && !dryRun {
				if err := step.do(ctx, tx); err != nil {
					return err
				}
				state.Done, moved = true, moved || step.moves
			}
			done = append(done, state)
		}
		return nil
	})
	if err == nil && moved {
		err = dropLeftovers(ctx, conn)
	}
	return done, err
}

func (d distribution) do(ctx context.Context, tx pgx.Tx) error {
	for _, statement := range d.work {
		if _, err := tx.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("make %s: %w", d.what, err)
		}
	}
	for _, statement := range d.everywhere {
		var done bool
		err := tx.QueryRow(ctx, fmt.Sprintf(onAllNodes, statement), pgx.QueryExecModeSimpleProtocol).Scan(&done)
		if err == nil && !done {
			err = errors.New("a node has refused it")
		}
		if err != nil {
			return fmt.Errorf("make %s: %w", d.what, err)
		}
	}
	return nil
}

// dropLeftovers frees the space of rows that are in shards now. Citus leaves copies of them in the tables.
func dropLeftovers(ctx context.Context, conn *pgx.Conn) error {
	for _, t := range sharded() { // it also truncates the tables that refer to each
		if _, err := conn.Exec(ctx, `SELECT truncate_local_data_after_distributing_table($1::text::regclass)`, t.table); err != nil {
			return fmt.Errorf("remove what was distributed: %w", err)
		}
	}
	return nil
}
