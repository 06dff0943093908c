//go:build environments

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"inventory/internal/servertest"
)

// pgpool starts a Pgpool before PostgreSQL servers, with its defaults except for some settings.
func pgpool(t *testing.T, settings string, servers ...*servertest.Postgres) *servertest.Program {
	t.Helper()
	return between(t, "pgpool", func(folder string, port int) (map[string]string, []string) {
		config := fmt.Sprintf(`listen_addresses = '127.0.0.1'
port = %d
pcp_listen_addresses = ''
socket_dir = '%[2]s'
pcp_socket_dir = '%[2]s'
pid_file_name = '%[2]s/pgpool.pid'
logdir = '%[2]s'
sr_check_user = 'postgres'
`, port, folder) + settings
		for i, server := range servers {
			config += fmt.Sprintf("\nbackend_hostname%d = '127.0.0.1'\nbackend_port%[1]d = %[2]d", i, server.Port())
		}
		return map[string]string{"pgpool.conf": config + "\n", "pcp.conf": ""},
			[]string{"-n", "-f", filepath.Join(folder, "pgpool.conf"), "-F", filepath.Join(folder, "pcp.conf")}
	})
}

func TestBehindPgpool(t *testing.T) {
	t.Parallel()
	url := database(t)
	pooler := pgpool(t, "backend_clustering_mode = 'raw'\nnum_init_children = 100", postgresServer)
	s := openSite(t, at(t, url, pooler.Addr())+ownSessions, nil, "--redis-url", redisServer.URL())
	s.works(3000, restarts(t, pooler))
}

func TestBehindPgpoolBeforeAStandby(t *testing.T) {
	t.Parallel()
	primary, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, primary.Stop)
	url, _, err := primary.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	standby, err := servertest.StartStandby(context.WithoutCancel(t.Context()), primary)
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, standby.Stop)
	const streaming = "num_init_children = 100\nbackend_clustering_mode = 'streaming_replication'\nbackend_weight1 = 1\n"
	reads := pgpool(t, streaming+"backend_weight0 = 0", primary, standby) // all of them at the standby
	for _, flags := range [][]string{{"migrate", "up"}, {"serve", "--lock", "none"}} {
		oneLine(t, spawn(t, append(flags, "--database-url", at(t, url, reads.Addr()))...), "load_balance_mode = off")
	}
	pooler := pgpool(t, streaming+"load_balance_mode = off", primary, standby)
	s := openSite(t, at(t, url, pooler.Addr())+ownSessions, nil, "--redis-url", redisServer.URL())
	execute(t, standby.URL(), "SELECT pg_wal_replay_pause()") // what is read there is old
	s.works(3000, restarts(t, pooler))
}
