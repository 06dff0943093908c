//go:build environments

package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"inventory/internal/servertest"
)

// pgbouncer starts a PgBouncer before a port of this machine, with its defaults except for some settings.
func pgbouncer(t *testing.T, server int, settings ...string) *servertest.Program {
	t.Helper()
	return between(t, "pgbouncer", func(folder string, port int) (map[string]string, []string) {
		return map[string]string{
			"users": `"postgres" ""`,
			"pgbouncer.ini": fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s/users
`, server, port, folder) + strings.Join(settings, "\n"),
		}, []string{filepath.Join(folder, "pgbouncer.ini")}
	})
}

// ownSessions says in a URL that a pooler gives no session to others while its client is there.
const ownSessions = "&default_query_exec_mode=cache_statement"

func TestBehindPgBouncerWithSessionPooling(t *testing.T) {
	t.Parallel()
	url := database(t)
	pooler := pgbouncer(t, postgresServer.Port())
	s := openSite(t, at(t, url, pooler.Addr())+ownSessions, nil, "--redis-url", redisServer.URL())
	s.works(12000, restarts(t, pooler))
}

func TestBehindPgBouncerWithTransactionPooling(t *testing.T) {
	t.Parallel()
	url := database(t)
	for _, setting := range []string{"client_connection_check_interval = '1s'", "idle_in_transaction_session_timeout = '5s'", "lock_timeout = '10s'"} {
		execute(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "+strings.ReplaceAll(setting, "'", "''")+"', current_database()); END $$")
	}
	pooler := pgbouncer(t, postgresServer.Port(), "pool_mode = transaction")
	s := openSite(t, at(t, url, pooler.Addr()), []string{"--direct-url", url}, "--redis-url", redisServer.URL())
	s.works(12000, restarts(t, pooler))
}

func TestBehindPgBouncerWithStatementPooling(t *testing.T) {
	t.Parallel()
	url := database(t)
	pooler := pgbouncer(t, postgresServer.Port(), "pool_mode = statement")
	for _, flags := range [][]string{{"migrate", "up"}, {"serve", "--lock", "none"}, {"serve", "--lock", "none", "--direct-url", url}} {
		oneLine(t, spawn(t, append(flags, "--database-url", at(t, url, pooler.Addr()))...), "statement")
	}
}

func TestBehindPgBouncerAStartEndsSoon(t *testing.T) {
	t.Parallel()
	p := interrupted(t, func(address string) []string { // which PgBouncer asks, for the process that waits
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		return []string{"--database-url", "postgres://postgres@" + pgbouncer(t, number).Addr() + "/silent", "--lock", "none"}
	}, syscall.SIGTERM)
	if !strings.Contains(p.log.String(), "context canceled") { // and not that it has waited for long enough
		t.Errorf("it says %s", p.log.String())
	}
}
