package gauges

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed postgres_counters.sql
	countersQuery string
	//go:embed postgres_sizes.sql
	sizesQuery string
)

// ownCommits is how many transactions a reading is.
const ownCommits = 2

// postgresServer is a PostgreSQL.
type postgresServer struct {
	url        string
	connection *pgx.Conn
	counters   string  // the query, as the server's version takes it
	committed  float64 // transactions of readings, which are not the service's
}

func (s *postgresServer) read(ctx context.Context) (Reading, error) {
	reading, err := s.ask(ctx)
	if err != nil {
		s.drop()
	}
	return reading, err
}

func (s *postgresServer) ask(ctx context.Context) (reading Reading, err error) {
	if err := s.open(ctx); err != nil {
		return reading, err
	}
	if reading.values, err = s.count(ctx); err != nil {
		return reading, err
	}
	var tables, indexes float64
	if err := s.connection.QueryRow(ctx, sizesQuery).Scan(&tables, &indexes); err != nil {
		return reading, fmt.Errorf("ask PostgreSQL for sizes: %w", err)
	}
	reading.values[tableBytes], reading.values[indexBytes] = tables, indexes
	s.committed += ownCommits
	return reading, nil
}

// count reads the counters.
func (s *postgresServer) count(ctx context.Context) (map[Quantity]float64, error) {
	var wal, wrote, syncs, committed, connected float64
	var fsync bool
	if err := s.connection.QueryRow(ctx, s.counters).Scan(&wal, &wrote, &syncs, &committed, &connected, &fsync, nil); err != nil {
		return nil, fmt.Errorf("ask PostgreSQL for its counters: %w", err)
	}
	values := map[Quantity]float64{walBytes: wal, Writes: wrote, commits: committed - s.committed, connections: connected}
	if fsync {
		values[walSyncs] = syncs
	} else {
		values[noFsync] = 1
	}
	return values, nil
}

// open connects, and lets this session's own beginning be counted before anything is read. The simple protocol makes one
// transaction of a query, which the extended one may make two of.
func (s *postgresServer) open(ctx context.Context) error {
	if s.connection != nil {
		return nil
	}
	config, err := pgx.ParseConfig(s.url)
	if err != nil {
		return errors.New("database URL: not a valid postgres:// URL") // err would quote parts of it
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	if s.connection, err = pgx.ConnectConfig(ctx, config); err != nil {
		return fmt.Errorf("reach PostgreSQL: %w", err)
	}
	var version int
	err = s.connection.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, pg_stat_force_next_flush()::text`).Scan(&version, nil)
	if err != nil {
		return fmt.Errorf("ask PostgreSQL for its version: %w", err)
	}
	s.counters = countersQuery
	if version >= 180000 { // the column has moved
		s.counters = strings.Replace(countersQuery, "(SELECT wal_sync::float8 FROM pg_stat_wal)",
			"(SELECT sum(fsyncs)::float8 FROM pg_stat_io WHERE object = 'wal')", 1)
	}
	return nil
}

// drop gives up a connection that failed; the next reading makes another.
func (s *postgresServer) drop() {
	if s.connection != nil {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		_ = s.connection.Close(ctx) // it is broken: the error of the reading says how
		s.connection = nil
	}
}

func (s *postgresServer) close(ctx context.Context) error {
	if s.connection == nil {
		return nil
	}
	return s.connection.Close(ctx)
}
