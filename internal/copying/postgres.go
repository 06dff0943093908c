package copying

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"inventory/internal/stock/postgres"
)

// OpenPostgres begins a transaction on a PostgreSQL database, which must have the schema. It refuses one that others are connected
// to, and keeps out what would write, or with write also what would read and write.
func OpenPostgres(ctx context.Context, databaseURL string, citus, write bool) (*Database, error) {
	config, err := pgxpool.ParseConfig(databaseURL) // knows the pool's parameters
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL URL: %w", err)
	}
	postgres.Settle(config.ConnConfig)
	server, tables, mode := inPostgres(), Tables(), "SHARE"
	if citus {
		// A node numbers changes by its clock.
		server.last, server.goOn, server.turnOn = `SELECT (extract(epoch FROM clock_timestamp()) * 4000000)::bigint`, "", nil
		tables = slices.DeleteFunc(tables, func(name string) bool { return name == outboxTable })
	}
	if write {
		mode = "EXCLUSIVE"
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	db.SetMaxOpenConns(1)
	if err := waitForOthers(ctx, db, config.ConnConfig.Host); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	d, err := begin(ctx, db, server, sql.LevelRepeatableRead)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		`SET LOCAL idle_in_transaction_session_timeout = 0`,
		`SET LOCAL tcp_user_timeout = 0`, // nothing is read while the other database stands still
		`SET LOCAL enable_seqscan = on`,
		`LOCK TABLE ` + strings.Join(tables, ", ") + ` IN ` + mode + ` MODE`, // before the snapshot
	} {
		if _, err := d.tx.ExecContext(ctx, statement); err != nil {
			_ = d.Close() // its error is a consequence
			return nil, fmt.Errorf("keep others from the tables: %w", err)
		}
	}
	return d, nil
}

// How long a copy waits for the sessions of programs that have just ended.
const (
	othersEnd = 2 * time.Second
	askEvery  = 50 * time.Millisecond
)

// others counts and lists the sessions of other programs. The server's own sessions have no user, or are of another kind.
const others = `SELECT count(*), coalesce(string_agg(DISTINCT coalesce(nullif(application_name, ''), 'process ' || pid), ', '), '')
FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
    AND coalesce(backend_type, 'client backend') = 'client backend' AND application_name NOT LIKE 'citus%'`

// waitForOthers returns an error if other programs are connected, and stay.
func waitForOthers(ctx context.Context, db *sql.DB, host string) error {
	_, err := backoff.Retry(ctx, func() (connected int, err error) {
		var names string
		if err := db.QueryRowContext(ctx, others).Scan(&connected, &names); err != nil {
			return 0, backoff.Permanent(fmt.Errorf("look for other sessions: %w", err))
		}
		if connected > 0 {
			err = fmt.Errorf("%d other sessions are connected to PostgreSQL %s (%s): stop all services and what else uses the database",
				connected, host, names)
		}
		return connected, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(askEvery)), backoff.WithMaxElapsedTime(othersEnd))
	return err
}

func inPostgres() kind {
	return kind{
		// The number of a transaction means nothing in another database. The first place in a key is 0 there.
		columns: `SELECT attname::text, format_type(atttypid, NULL), coalesce(array_position(indkey::smallint[], attnum) + 1, 0)
			FROM pg_attribute LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
			WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND atttypid <> 'xid8'::regtype ORDER BY attname`,
		form:   postgresForm,
		last:   `SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('outbox', 'position')::regclass), 0)`,
		goOn:   `SELECT setval(pg_get_serial_sequence('outbox', 'position'), greatest($1::bigint, 1), $1 > 0)`,
		turnOn: postgres.TurnOutboxOn(),
		write: func(ctx context.Context, d *Database, table string, names []string, rows *rows) error {
			return d.conn.Raw(func(inside any) error {
				_, err := inside.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table}, names, rows)
				return err
			})
		},
	}
}

func postgresForm(kind string) (form, error) {
	switch kind {
	case "text", "bigint":
		return same(), nil
	case "integer":
		return form{"%s::bigint", same().value}, nil
	case "boolean":
		return form{"%s::integer::bigint", func(v any) any { return v != int64(0) }}, nil
	case "timestamp with time zone":
		return form{"(extract(epoch FROM %s) * 1000000)::bigint", func(v any) any { return time.UnixMicro(v.(int64)).UTC() }}, nil
	default:
		return form{}, fmt.Errorf("nothing here copies its type, %s", kind)
	}
}
