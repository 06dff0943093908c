package copying

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock/postgres"
)

// server is a PostgreSQL database, or the coordinator of one on Citus.
type server struct {
	conn  *pgx.Conn
	tx    pgx.Tx
	citus bool
	types map[string]string // of the columns that were asked for, by TABLE.COLUMN
}

var _ Database = (*server)(nil)

// How long a copy waits for the sessions of programs that have just ended.
const (
	othersEnd = 2 * time.Second
	askEvery  = 50 * time.Millisecond
)

// OpenPostgres begins a transaction on a PostgreSQL database, which must have the schema. It refuses one that others are connected
// to, and keeps out what would write, or with write also what would read and write.
func OpenPostgres(ctx context.Context, databaseURL string, citus, write bool) (Database, error) {
	config, err := pgxpool.ParseConfig(databaseURL) // knows the pool's parameters
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL URL: %w", err)
	}
	postgres.Settle(config.ConnConfig)
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	s := &server{conn: conn, citus: citus, types: make(map[string]string)}
	if err := s.begin(ctx, write); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *server) begin(ctx context.Context, write bool) (err error) {
	if err := s.waitForOthers(ctx); err != nil {
		return err
	}
	tables, mode := Tables(), "SHARE"
	if s.citus {
		tables = slices.DeleteFunc(tables, func(name string) bool { return name == outboxTable })
	}
	if write {
		mode = "EXCLUSIVE"
	}
	if s.tx, err = s.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for _, statement := range []string{
		`SET LOCAL idle_in_transaction_session_timeout = 0`,
		`SET LOCAL enable_seqscan = on`,
		`LOCK TABLE ` + strings.Join(tables, ", ") + ` IN ` + mode + ` MODE`, // before the snapshot
	} {
		if _, err := s.tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("keep others from the tables: %w", err)
		}
	}
	return nil
}

// others lists the sessions of other programs. What the server does by itself has no user, or is of another kind.
const others = `SELECT coalesce(nullif(application_name, ''), 'process ' || pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
    AND coalesce(backend_type, 'client backend') = 'client backend' AND application_name NOT LIKE 'citus%' ORDER BY 1`

// waitForOthers returns an error if other programs are connected, and stay.
func (s *server) waitForOthers(ctx context.Context) error {
	for begun := time.Now(); ; {
		rows, err := s.conn.Query(ctx, others)
		if err != nil {
			return fmt.Errorf("look for other sessions: %w", err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		switch {
		case err != nil:
			return fmt.Errorf("look for other sessions: %w", err)
		case len(names) == 0:
			return nil
		case time.Since(begun) > othersEnd:
			return fmt.Errorf("%d other sessions are connected to PostgreSQL %s (%s): stop all services and what else uses the database",
				len(names), s.conn.Config().Host, strings.Join(slices.Compact(names), ", "))
		}
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// form is how the values of a type are read, and made of what was read.
type form struct {
	read  string
	value func(any) any
}

func forms() map[string]form {
	same := func(v any) any { return v }
	return map[string]form{
		"text":    {"%s", same},
		"bigint":  {"%s", same},
		"integer": {"%s::bigint", same},
		"boolean": {"%s::integer::bigint", func(v any) any { return v != int64(0) }},
		"timestamp with time zone": {"(extract(epoch FROM %s) * 1000000)::bigint", func(v any) any {
			return time.UnixMicro(v.(int64)).UTC()
		}},
	}
}

// columns lists columns and their types. The number of a transaction means nothing in another database.
const columns = `SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND atttypid <> 'xid8'::regtype ORDER BY attname`

// Columns implements [Database].
func (s *server) Columns(ctx context.Context, table string) (names []string, err error) {
	rows, err := s.tx.Query(ctx, columns, table)
	if err != nil {
		return nil, err
	}
	var name, kind string
	_, err = pgx.ForEachRow(rows, []any{&name, &kind}, func() error {
		if _, known := forms()[kind]; !known {
			return fmt.Errorf("the column %s has the type %s, which nothing here copies", name, kind)
		}
		names = append(names, name)
		s.types[table+"."+name] = kind
		return nil
	})
	return names, err
}

// Count implements [Database].
func (s *server) Count(ctx context.Context, table string) (rows int, err error) {
	err = s.tx.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&rows)
	return rows, err
}

// Read implements [Database].
func (s *server) Read(ctx context.Context, table string, columns []string) (Rows, error) {
	var key []string
	if err := s.tx.QueryRow(ctx, primaryKey, table).Scan(&key); err != nil {
		return nil, err
	}
	read := make([]string, len(columns))
	for i, name := range columns {
		read[i] = fmt.Sprintf(forms()[s.types[table+"."+name]].read, name)
	}
	return s.tx.Query(ctx, `SELECT `+strings.Join(read, ", ")+` FROM `+table+` ORDER BY `+strings.Join(key, ", "))
}

// primaryKey lists the columns of a table's key.
const primaryKey = `SELECT array_agg(attname::text ORDER BY array_position(indkey::smallint[], attnum)) FROM pg_index
JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey) WHERE indrelid = to_regclass($1) AND indisprimary`

// Write implements [Database].
func (s *server) Write(ctx context.Context, table string, columns []string, rows Rows) error {
	values := make([]func(any) any, len(columns))
	for i, name := range columns {
		values[i] = forms()[s.types[table+"."+name]].value
	}
	_, err := s.tx.CopyFrom(ctx, pgx.Identifier{table}, columns, &typed{rows, values})
	return err
}

// typed are rows whose values have the types of PostgreSQL.
type typed struct {
	Rows
	of []func(any) any // makes a value of a column
}

// Values implements [pgx.CopyFromSource].
func (t *typed) Values() ([]any, error) {
	values, err := t.Rows.Values()
	for i, v := range values {
		if v != nil {
			values[i] = t.of[i](v)
		}
	}
	return values, err
}

// LastPosition implements [Database]. A node of Citus numbers changes by its clock.
func (s *server) LastPosition(ctx context.Context) (last int64, err error) {
	last = time.Now().UnixMicro() * 4
	if !s.citus {
		err = s.tx.QueryRow(ctx, `SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('outbox', 'position')::regclass), 0)`).Scan(&last)
	}
	return last, err
}

// SetOutbox implements [Database].
func (s *server) SetOutbox(ctx context.Context, o Outbox) error {
	if s.citus {
		return nil
	}
	_, err := s.tx.Exec(ctx, `SELECT setval(pg_get_serial_sequence('outbox', 'position'), greatest($1::bigint, 1), $1 > 0)`, o.Last)
	if o.On {
		for _, statement := range postgres.TurnOutboxOn() {
			if err == nil {
				_, err = s.tx.Exec(ctx, statement)
			}
		}
	}
	return err
}

// Commit implements [Database].
func (s *server) Commit(ctx context.Context) error { return s.tx.Commit(ctx) }

// Close implements [Database]. The server ends the transaction with its connection.
func (s *server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), othersEnd)
	defer cancel()
	return s.conn.Close(ctx)
}
