package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock/tables"
)

// The SQLSTATE that inventory_here raises, our function on Citus' nodes, before anything is written.
const gone = "IN001" // the shard is on another node

// internalError is the SQLSTATE of errors that have none of their own.
const internalError = "XX000"

// Shard are the tables of a shard of Citus.
type Shard struct {
	ID     int64             // of its first table
	Tables map[string]string // the name there of each distributed table
}

// Shard returns a store on the tables of a shard. It uses the connections of this store, the store of the shard's node, which
// closes them. Writes to the shards of a node that wait at the same time share a transaction.
//
// Before each read or write, in the same transaction, comes a statement that waits while the shard is moved. If the shard has
// gone, that statement fails: see [ShardGone].
func (s *Store) Shard(of Shard) *Store {
	names := make([]string, 0, len(of.Tables))
	for name := range of.Tables {
		names = append(names, regexp.QuoteMeta(name))
	}
	// Columns may have the name of a table.
	table := regexp.MustCompile(`\b(FROM|JOIN|INTO|UPDATE) (` + strings.Join(names, "|") + `)\b`)
	return s.with(&dialect{
		shard:     of.ID,
		shardLock: fmt.Sprintf(`SELECT inventory_here(%d)`, of.ID),
		translate: func(statement string) string {
			if statement == tables.AuditSQL || statement == tables.SelectPrunable { // order lines are in the shards of their orders
				statement = strings.Replace(statement, "FROM order_lines l", `FROM (SELECT '' AS sku_id, '' AS order_id LIMIT 0) l`, 1)
			}
			return table.ReplaceAllStringFunc(statement, func(found string) string {
				before, name, _ := strings.Cut(found, " ")
				return before + " " + of.Tables[name]
			})
		},
	})
}

// with returns a store with a dialect that shares the connections of this one, and its shared writes.
func (s *Store) with(d *dialect) *Store {
	o := *s
	o.shares = true
	o.use(database{s.pool.Pool, d, s.sessions})
	return &o
}

// use sets the database of the store.
func (s *Store) use(pool database) {
	s.pool = pool
	s.Base = tables.Base{DB: pool, InTx: func(ctx context.Context, deadline time.Time, work func(tables.Tx) error) error {
		return s.inTx(ctx, deadline, func(tx transaction) error { return work(tx) })
	}}
}

// ShardGone reports whether an error says that a shard is on another node now, or no longer exists: Citus splits shards. Nothing
// was written.
func ShardGone(err error) bool {
	switch state := stateOf(err); state {
	case gone, undefinedTable:
		return true
	case internalError: // Citus has no other SQLSTATE for it, and does not translate the message
		return strings.Contains(err.Error(), "could not find valid entry for shard")
	default:
		return false
	}
}

// Deadlocked reports whether a transaction was undone because of a deadlock or what looked like one, or because it waited too
// long for a row.
func Deadlocked(err error) bool {
	state := stateOf(err)
	return state == deadlockDetected || state == lockNotAvailable
}

// Answered reports whether an error comes from the server, which therefore is there.
func Answered(err error) bool { return stateOf(err) != "" }

// dialect changes statements on their way to the server; nil: they stay as they are.
type dialect struct {
	translate func(string) string
	shard     int64    // the one that statements are about
	shardLock string   // comes before each statement outside a transaction, and at the beginning of each transaction; "": nothing
	begin     string   // settings at the beginning of a transaction; "": none
	routed    bool     // Citus routes the statements to shards
	texts     sync.Map // what has been translated: statements are constants, so there are few
}

func (d *dialect) routes() bool { return d != nil && d.routed }

// locks reports whether statements come after the lock of a shard.
func (d *dialect) locks() bool { return d != nil && d.shardLock != "" }

// patientMark stands before a statement that may take longer: see [patient].
const patientMark = "/* patient */"

func (d *dialect) of(statement string) string {
	if d == nil {
		return statement
	}
	if text, known := d.texts.Load(statement); known {
		return text.(string)
	}
	text := d.translate(statement)
	if patient(statement) {
		text = patientMark + text
	}
	d.texts.Store(statement, text)
	return text
}

// first returns the dialect's settings and lock, which come at the beginning of a transaction; "": there are none.
func (d *dialect) first() string {
	if d == nil {
		return ""
	}
	return d.begin + d.shardLock
}

// database is a pool whose statements are in a dialect.
type database struct {
	*pgxpool.Pool
	dialect  *dialect
	sessions *sessions
}

// options makes a transaction begin with its settings and the lock of its shard, in one message.
func (d database) options(o pgx.TxOptions) pgx.TxOptions {
	first := d.sessions.local() + d.dialect.first()
	if first == "" {
		return o
	}
	begin := o.BeginQuery
	if begin == "" {
		begin = strings.TrimSpace("BEGIN ISOLATION LEVEL " + string(o.IsoLevel) + " " + string(o.AccessMode))
	}
	o.BeginQuery = begin + "; " + first
	return o
}

// Each implements [tables.Querier], after the lock of the shard. Only after the last row is it certain that a write is committed.
func (d database) Each(ctx context.Context, read func(tables.Row) error, sql string, args ...any) error {
	return d.each(ctx, d.Pool, read, sql, args)
}

// querier is a pool, or one of its connections.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

func (d database) each(ctx context.Context, on querier, read func(tables.Row) error, sql string, args []any) error {
	if !d.dialect.locks() {
		rows, err := on.Query(ctx, d.dialect.of(sql), args...)
		if err != nil {
			return err
		}
		return each(read)(rows)
	}
	statements := &pgx.Batch{}
	statements.Queue(d.dialect.shardLock)
	statements.Queue(d.dialect.of(sql), args...).Query(each(read))
	return on.SendBatch(ctx, statements).Close()
}

// each reads the rows of a query.
func each(read func(tables.Row) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			if err := read(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// snapshot runs reads in a transaction after the lock of the shard.
func (d database) snapshot(ctx context.Context, o pgx.TxOptions, work func(transaction) error) error {
	return pgx.BeginTxFunc(ctx, d.Pool, d.options(o), func(tx pgx.Tx) error { return work(transaction{tx: tx, dialect: d.dialect}) })
}
