//go:build environments

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"inventory/internal/servertest"
)

// pgbouncer starts a PgBouncer before PostgreSQL, with its defaults except for some settings.
func pgbouncer(t *testing.T, settings ...string) *servertest.Program {
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
`, postgresServer.Port(), port, folder) + strings.Join(settings, "\n"),
		}, []string{filepath.Join(folder, "pgbouncer.ini")}
	})
}

// Environment: PgBouncer with session pooling | works with a setting
func TestBehindPgBouncerWithSessionPooling(t *testing.T) {
	t.Parallel()
	url := database(t)
	pooler := pgbouncer(t, "default_pool_size = 60")
	s := openSite(t, []string{"--database-url", at(t, url, pooler.Addr())}, "--redis-url", redisServer.URL())
	s.works(12000, restarts(t, pooler))
}

// Environment: PgBouncer with transaction pooling | works with a setting
func TestBehindPgBouncerWithTransactionPooling(t *testing.T) {
	t.Parallel()
	url := database(t)
	pooler := pgbouncer(t, "pool_mode = transaction")
	s := openSite(t, []string{"--database-url", at(t, url, pooler.Addr()), "--direct-url", url}, "--redis-url", redisServer.URL())
	s.works(12000, restarts(t, pooler))
}

// Environment: PgBouncer with statement pooling | refused
func TestBehindPgBouncerWithStatementPooling(t *testing.T) {
	t.Parallel()
	url := database(t)
	pooler := pgbouncer(t, "pool_mode = statement")
	for _, flags := range [][]string{{"migrate", "up"}, {"serve", "--lock", "none"}} {
		oneLine(t, invoke(t, append(flags, "--database-url", at(t, url, pooler.Addr()), "--direct-url", url)...), "statement")
	}
}
