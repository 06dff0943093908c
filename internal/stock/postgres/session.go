package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Limits that PostgreSQL itself enforces, because none of our processes may be left to do so. A process that hangs in the
// middle of a transaction holds the rows of a SKU, and so stops its sale in all processes. A statement whose caller has gone
// keeps waiting for its row. The URL may set others.
const (
	idleInTransaction = "5s"  // as long as the lease of a lock
	rowWait           = "10s" // as long as a batch may take
	clientGone        = "1s"  // it checks this often, during a statement, whether its client is there
	clientSilent      = "5s"  // after this long it probes the client's host, which has 5s to answer, and to acknowledge what was sent
)

// setting is a parameter of a session on which statements rely. Roles and databases may have another value of it. A connection in
// which a vital one cannot be set, because the session is shared, is refused. Without the others statements only take longer.
type setting struct {
	name, value string
	vital       bool
}

// relied are the settings that no URL changes. Statements are carried out one after another in one transaction, each with what is
// committed by then. Each connection keeps the plans of its statements: planning a batch costs as much as writing twenty rows,
// and planning some transactions costs more than carrying them out. A plan that is kept fits the sizes that the tables had when
// it was made. For a sale that begins with empty tables, that plan would read them from end to end, so sequential scans are off, and so
// are scans that collect rows before they are looked at.
// Every lookup of every statement has an index that fits it, whatever the sizes.
func relied() []setting {
	return []setting{
		{"default_transaction_isolation", "read committed", true},
		{"client_encoding", "UTF8", true},
		{"standard_conforming_strings", "on", true},
		{"array_nulls", "on", true},
		{"DateStyle", "ISO, MDY", false},
		{"IntervalStyle", "postgres", false},
		{"TimeZone", "UTC", false},
		{"extra_float_digits", "1", false},
		{"bytea_output", "hex", false},
		{"plan_cache_mode", "force_generic_plan", false},
		{"enable_seqscan", "off", false},
		{"enable_bitmapscan", "off", false}, // for a page it would read all that could be on it, and sort that
		{"jit", "off", false},               // a scan that is forbidden counts as so expensive that its plan would be compiled
		{"enable_indexscan", "on", false},
		{"enable_nestloop", "on", false},
	}
}

// limitsOfSessions are the settings that a URL may change.
func limitsOfSessions() []setting {
	return []setting{
		{"idle_in_transaction_session_timeout", idleInTransaction, false},
		{"lock_timeout", rowWait, false},
		{"client_connection_check_interval", clientGone, false},
		{"statement_timeout", "0", false},
		{"transaction_timeout", "0", false},
		{"idle_session_timeout", "0", false},
		{"tcp_keepalives_idle", clientSilent, false},
		{"tcp_keepalives_interval", "1s", false},
		{"tcp_keepalives_count", "5", false},
		{"tcp_user_timeout", clientSilent, false},
	}
}

// beginSnapshot begins a transaction that reads one state of the database, with sequential scans if they help.
const beginSnapshot = `
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;
SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = on; `

// ownSessions in a URL says that each session is the client's own, as long as its connection lasts, although a pooler answers for the
// server. It is what pgx does without a pooler.
const ownSessions = "default_query_exec_mode=cache_statement"

// sessions give each connection the settings that statements rely on. A connection asks for them once it is there, in one round
// trip: poolers refuse a connection that asks for settings which they do not know.
//
// If a pooler answers for the server, the session may be somebody else's from one transaction to the next. So nothing rests on
// it, unless the URL has [ownSessions].
type sessions struct {
	all    map[string]setting // by the name in lower case
	begins string             // the statement that a connection begins with
	clock  *serverClock       // learns from each connection; nil: none
	server *demotion          // learns from each message; nil: none
	own    bool
	pace   pace        // measured by each connection
	shared atomic.Bool // a pooler answers for the server, and sessions are not the client's own
}

// newSessions takes the settings of the URL out of a configuration.
func newSessions(config *pgx.ConnConfig, clock *serverClock) *sessions {
	s := &sessions{
		begins: statements().Of("session").Text, clock: clock,
		own: strings.Contains(config.ConnString(), ownSessions), all: make(map[string]setting),
	}
	s.set(limitsOfSessions()...)
	s.takeSettings(config)
	s.set(relied()...)
	return s
}

// takeSettings takes the settings out of a configuration, and leaves those that have to come with the request to connect.
func (s *sessions) takeSettings(config *pgx.ConnConfig) {
	for name, value := range config.RuntimeParams {
		if slices.Contains([]string{"application_name", "options", "replication"}, name) {
			continue
		}
		one := setting{name, value, true}
		if known, there := s.all[strings.ToLower(name)]; there {
			one.vital = known.vital
		}
		s.set(one)
		delete(config.RuntimeParams, name)
	}
}

func (s *sessions) set(some ...setting) {
	for _, one := range some {
		s.all[strings.ToLower(one.name)] = one
	}
}

// local returns what a transaction in a shared session sets for itself; "" if sessions are not shared.
func (s *sessions) local() string {
	if !s.shared.Load() {
		return ""
	}
	var statements strings.Builder
	for _, name := range []string{"lock_timeout", "idle_in_transaction_session_timeout"} {
		fmt.Fprintf(&statements, "SET LOCAL %s = '%s'; ", name, strings.ReplaceAll(s.all[name].value, "'", "''"))
	}
	return statements.String()
}

// Settle makes connections of a configuration notice soon that a host does not answer, and gives them the settings that this
// package's own have. It is for a few statements beside a store.
func Settle(config *pgx.ConnConfig) {
	connectSoon(config)
	s := newSessions(config, nil)
	config.ConnectTimeout = s.pace.connect(config, config.ConnectTimeout)
	s.watch(config)
	if config.DefaultQueryExecMode != pgx.QueryExecModeExec {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

// prepare prepares the configuration of one connection of a store.
func (s *sessions) prepare(config *pgx.ConnConfig) {
	config.ConnectTimeout = s.pace.connect(config, config.ConnectTimeout)
	s.watch(config)
	s.mode(config)
	neverCancel(&config.Config)
}

// watch makes a new connection ask for its settings.
func (s *sessions) watch(config *pgx.ConnConfig) {
	limit := config.ConnectTimeout
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return s.begin(ctx, conn)
	}
}

// begin gives a connection its settings, or refuses it.
func (s *sessions) begin(ctx context.Context, conn *pgconn.PgConn) error {
	shared, err := s.ask(ctx, conn)
	if err == nil {
		err = readsHere(ctx, conn)
	}
	if err != nil || !shared || s.shared.Load() {
		return err
	}
	if err := transactions(ctx, conn); err != nil {
		return err
	}
	s.shared.Store(true)
	return nil
}

// ask sends the settings and reads them back. It reports whether the session is shared, and refuses one that would make statements
// wrong.
func (s *sessions) ask(ctx context.Context, conn *pgconn.PgConn) (shared bool, err error) {
	sent := time.Now()
	answer := conn.ExecParams(ctx, s.begins, s.arguments(conn.PID()), nil, nil, nil).Read()
	if answer.Err != nil {
		return false, fmt.Errorf("set the parameters of the session: %w", answer.Err)
	}
	s.pace.note(time.Since(sent))
	for n, row := range answer.Rows {
		if n == 0 {
			pooled, err := s.learn(sent, conn, row)
			if err != nil {
				return false, err
			}
			shared = pooled && !s.own
		}
		name, is, should := string(row[3]), string(row[4]), string(row[5])
		if shared && is != should && s.all[strings.ToLower(name)].vital {
			return true, fmt.Errorf("a pooler may share connections, so no session can set %s, which is %q: "+
				"ALTER ROLE … SET %s = '%s', and have the pooler reconnect", name, is, name, should)
		}
	}
	return shared, nil
}

// arguments returns the arguments of session.sql.
func (s *sessions) arguments(pid uint32) [][]byte {
	values := make(map[string]string, len(s.all))
	for _, one := range s.all {
		values[one.name] = one.value
	}
	text, _ := json.Marshal(values) // texts never fail
	return [][]byte{strconv.AppendUint(nil, uint64(pid), 10), strconv.AppendBool(nil, s.own), text}
}

// learn evaluates what a row says of the server. An ASCII database keeps each text as it was sent.
func (s *sessions) learn(sent time.Time, conn *pgconn.PgConn, row [][]byte) (pooled bool, err error) {
	pid, err := strconv.ParseUint(string(row[0]), 10, 32)
	clock, err2 := strconv.ParseInt(string(row[2]), 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return false, fmt.Errorf("read the session: %w", err)
	}
	if encoding := string(row[1]); encoding != "UTF8" && encoding != "SQL_ASCII" {
		return false, fmt.Errorf("the database's encoding is %s, which cannot hold every text: create it with ENCODING 'UTF8'", encoding)
	}
	if s.clock != nil {
		s.clock.note(sent, time.UnixMicro(clock))
	}
	return uint32(pid) != conn.PID(), nil
}
