package gauges

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed postgres_counters.sql
	countersQuery string
	//go:embed postgres_relations.sql
	relationsQuery string
	//go:embed postgres_silent.sql
	silentQuery string
)

// PostgresSettles is how long a session of PostgreSQL may keep its counts to itself. It reports them when it ends, when a
// transaction ends a second or more after the last report, and after ten idle seconds. So the syncs and commits of each
// session's last second may be missing in a run that does not wait. Nothing can hurry another session.
const PostgresSettles = 10500 * time.Millisecond

const (
	silencePoll = 200 * time.Millisecond
	// ownCommits is how many transactions a reading is.
	ownCommits = 2
)

// postgresServer is a PostgreSQL.
type postgresServer struct {
	url        string
	limit      time.Duration // of settling
	connection *pgx.Conn
	counters   string  // the query, as the server's version takes it
	committed  float64 // transactions of readings, which are not the service's
}

func (s *postgresServer) read(ctx context.Context, _ bool) (Reading, error) {
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
	rows, _ := s.connection.Query(ctx, relationsQuery) // CollectRows returns its error
	reading.relations, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Relation, err error) {
		err = row.Scan(&r.Name, &r.Table, &r.Bytes, &r.Live, &r.Dead)
		if r.Table != "" {
			r.Live, r.Dead = math.NaN(), math.NaN()
		}
		return r, err
	})
	if err != nil {
		return reading, fmt.Errorf("ask PostgreSQL for sizes: %w", err)
	}
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

// settle waits until all sessions have reported their counts, at most for its limit, and reads the late ones again. The
// other counters stay as they were at the end of the run.
func (s *postgresServer) settle(ctx context.Context, into *Reading) error {
	for end := time.Now().Add(s.limit); time.Now().Before(end); time.Sleep(silencePoll) {
		var silent bool
		if err := s.connection.QueryRow(ctx, silentQuery, PostgresSettles.Seconds()).Scan(&silent, nil); err != nil {
			return fmt.Errorf("wait for PostgreSQL's counters: %w", err)
		}
		s.committed++
		if silent {
			break
		}
	}
	late, err := s.count(ctx)
	for _, q := range []Quantity{commits, walSyncs} {
		if value, known := late[q]; known {
			into.values[q] = value
		}
	}
	return err
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
