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

// PostgresSettles is how long a session of PostgreSQL may keep to itself what it has counted. It tells at the end of a
// transaction when a second has passed since it last did, when it ends, and else when it has been idle for ten seconds. So the
// syncs and commits of each session's last second may be missing in a run that does not wait, and there is no way to ask for
// them: a session can hurry itself alone.
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

func (*postgresServer) name() string { return "PostgreSQL" }

func (s *postgresServer) read(ctx context.Context, _ bool) (Reading, error) {
	reading, err := s.ask(ctx)
	if err != nil {
		s.drop()
		return Reading{}, err
	}
	return reading, nil
}

func (s *postgresServer) ask(ctx context.Context) (reading Reading, err error) {
	if err := s.open(ctx); err != nil {
		return reading, err
	}
	if reading.values, err = s.count(ctx); err != nil {
		return reading, err
	}
	rows, err := s.connection.Query(ctx, relationsQuery)
	if err != nil {
		return reading, fmt.Errorf("ask PostgreSQL for sizes: %w", err)
	}
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
	reading.sizes()
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

// settle waits until all sessions have told what they counted, but not beyond its limit, and reads that again. The other
// counters stay as they were at the end of the run.
func (s *postgresServer) settle(ctx context.Context, into *Reading) error {
	if _, known := into.values[commits]; s.connection == nil || !known {
		return nil
	}
	end := time.NewTimer(s.limit)
	defer end.Stop()
	for waiting := true; waiting; {
		var silent bool
		if err := s.connection.QueryRow(ctx, silentQuery, PostgresSettles.Seconds()).Scan(&silent, nil); err != nil {
			return fmt.Errorf("wait for PostgreSQL's counters: %w", err)
		}
		s.committed++
		if silent {
			break
		}
		select {
		case <-end.C:
			waiting = false
		case <-time.After(silencePoll):
		}
	}
	late, err := s.count(ctx)
	if err != nil {
		return err
	}
	into.values[commits] = late[commits]
	if syncs, known := late[walSyncs]; known {
		into.values[walSyncs] = syncs
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
