//go:build unix

package servertest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// postgresUser is the superuser of every private server.
	postgresUser = "postgres"
	// postgresStopTimeout bounds an orderly stop; after it SIGKILL follows.
	postgresStopTimeout = 10 * time.Second
)

// Postgres is a private PostgreSQL server.
type Postgres struct {
	server
	parent   string   // of its folder
	programs string   // folder of initdb and postgres
	settings []string // in its command line
}

// PostgresOption changes how StartPostgres sets up the server.
type PostgresOption func(*Postgres)

// Durable keeps the server's files on the disk, and makes the server write
// through to the disk before it confirms a commit, as in production.
// Measurements need it; tests are faster without it, with files in memory.
func Durable() PostgresOption {
	return func(p *Postgres) {
		p.parent = os.TempDir()
		p.settings = append(p.settings, "-c", "fsync=on", "-c", "full_page_writes=on")
	}
}

// Setting sets a configuration parameter of the server.
func Setting(name, value string) PostgresOption {
	return func(p *Postgres) { p.settings = append(p.settings, "-c", name+"="+value) }
}

// StartPostgres starts a PostgreSQL server with an empty cluster. Its commits
// survive Kill, but not a failure of the machine; for that see Durable.
func StartPostgres(ctx context.Context, options ...PostgresOption) (*Postgres, error) {
	p, err := newPostgres(options)
	if err != nil {
		return nil, err
	}
	return started(p, p.open(ctx, p.parent, p.initialize))
}

func newPostgres(options []PostgresOption) (*Postgres, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	account, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	p := &Postgres{
		// SIGQUIT ends all of the server's processes at once and, unlike
		// SIGKILL, lets it give its shared memory back.
		server:   server{name: "PostgreSQL", deathSignal: syscall.SIGQUIT, account: account},
		parent:   quickFolder(),
		programs: programs,
		settings: []string{
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200",
			"-c", "synchronous_commit=on", "-c", "fsync=off", "-c", "full_page_writes=off",
			// As files in the data folder, segments go with the folder; others
			// would outlive a killed server.
			"-c", "dynamic_shared_memory_type=mmap",
		},
	}
	for _, option := range options {
		option(p)
	}
	p.command, p.ready, p.release = p.serverCommand, p.answers, p.releaseMemory
	return p, nil
}

// URL returns the address of the maintenance database.
func (p *Postgres) URL() string { return p.databaseURL("postgres") }

func (p *Postgres) databaseURL(name string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", postgresUser, p.Addr(), name)
}

// CreateDatabase makes a database with a fresh name. It is a clone of template,
// which is the name or the URL of a database of this server without connections,
// or "" for an empty one. The returned drop removes it again, and closes the
// connections that are still open.
func (p *Postgres) CreateDatabase(ctx context.Context, template string) (string, func(context.Context) error, error) {
	source, err := databaseName(template)
	if err != nil {
		return "", nil, err
	}
	name := "test_" + strings.ToLower(rand.Text()[:16])
	// Copying the files takes a checkpoint, which is cheap without fsync. The
	// other strategy writes every page to the log as well, and while the log of a
	// new server grows that takes several times as long.
	create := fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY",
		pgx.Identifier{name}.Sanitize(), pgx.Identifier{source}.Sanitize())
	if err := p.execute(ctx, create); err != nil {
		return "", nil, fmt.Errorf("creating a database: %w", err)
	}
	drop := func(ctx context.Context) error {
		statement := fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", pgx.Identifier{name}.Sanitize())
		if err := p.execute(ctx, statement); err != nil {
			return fmt.Errorf("dropping the database %s: %w", name, err)
		}
		return nil
	}
	return p.databaseURL(name), drop, nil
}

// databaseName returns the name of the database in the template of CreateDatabase.
func databaseName(template string) (string, error) {
	if template == "" {
		// Unlike template1, template0 takes no connections, and so can always
		// be cloned.
		return "template0", nil
	}
	if !strings.Contains(template, "://") {
		return template, nil
	}
	parsed, err := url.Parse(template)
	if err != nil {
		return "", fmt.Errorf("template database: %w", err)
	}
	return strings.TrimPrefix(parsed.Path, "/"), nil
}

// execute runs one statement in the maintenance database.
func (p *Postgres) execute(ctx context.Context, statement string) error {
	return executeAt(ctx, p.URL(), statement)
}

// executeAt runs one statement in a database.
func executeAt(ctx context.Context, databaseURL, statement string) error {
	connection, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	_, err = connection.Exec(ctx, statement)
	return errors.Join(err, connection.Close(ctx))
}

// Stop ends the server and removes its folder. Later calls do nothing.
func (p *Postgres) Stop() error {
	if p.running() { // an immediate shutdown: the data is no longer needed
		if err := p.signal(syscall.SIGQUIT); err != nil {
			return fmt.Errorf("stopping %s: %w", p.name, err)
		}
		select {
		case <-p.process.life.Done():
		case <-time.After(postgresStopTimeout):
		}
	}
	return p.server.Stop()
}

func (p *Postgres) dataFolder() string { return filepath.Join(p.folder.path, "data") }

// initialize makes the cluster.
func (p *Postgres) initialize(ctx context.Context) error {
	// Every machine has the C locale. Nothing may depend on the order of another locale: ids are COLLATE "C".
	return p.fill(ctx, "initdb",
		"--pgdata", p.dataFolder(), "--username", postgresUser, "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
}

// fill runs a program that makes the data folder, which takes half a second at most. It is not stopped in the middle: otherwise
// its children's children would go on writing into the folder while it is removed.
func (p *Postgres) fill(ctx context.Context, name string, arguments ...string) error {
	output, err := p.run(filepath.Join(p.programs, name), arguments...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s ended with %w; the end of its log:\n%s", name, err, output[max(0, len(output)-logTailBytes):])
	}
	if err = cmp.Or(context.Cause(ctx), err); err != nil {
		return fmt.Errorf("making a PostgreSQL cluster: %w", err)
	}
	return nil
}

// serverCommand returns the command line of the server.
func (p *Postgres) serverCommand() *exec.Cmd {
	arguments := append([]string{"-D", p.dataFolder(), "-p", strconv.Itoa(p.port)}, p.settings...)
	return p.run(filepath.Join(p.programs, "postgres"), arguments...)
}

// answers connects and compares the data folder. It needs no process id.
func (p *Postgres) answers(ctx context.Context, _ int) error {
	connection, err := pgx.Connect(ctx, p.URL())
	if err != nil {
		return err
	}
	var data string
	err = connection.QueryRow(ctx, "SHOW data_directory").Scan(&data)
	if err == nil && data != p.dataFolder() {
		err = fmt.Errorf("another server, with data in %s, answers", data)
	}
	return errors.Join(err, connection.Close(ctx))
}

// standbyName is a primary's name of its standby.
const standbyName = "standby"

// StartStandby starts a server that follows a primary, and returns when it streams. Stop it separately.
func StartStandby(ctx context.Context, primary *Postgres, options ...PostgresOption) (*Postgres, error) {
	port := strconv.Itoa(primary.port)
	p, err := newPostgres(append(options, Setting("primary_conninfo",
		"host=127.0.0.1 port="+port+" user="+postgresUser+" application_name="+standbyName)))
	if err != nil {
		return nil, err
	}
	err = p.open(ctx, p.parent, func(ctx context.Context) error {
		err := p.fill(ctx, "pg_basebackup", "--pgdata", p.dataFolder(), "--host", "127.0.0.1", "--port", port,
			"--username", postgresUser, "--checkpoint", "fast", "--no-sync")
		if err != nil {
			return err
		}
		signal := filepath.Join(p.dataFolder(), "standby.signal")
		return errors.Join(os.WriteFile(signal, nil, 0o600), p.account.own(signal)) // PostgreSQL removes it on a promotion
	})
	if err != nil {
		return nil, err
	}
	err = await(ctx, "a standby to stream", func(ctx context.Context) error {
		return primary.execute(ctx, "DO $$ BEGIN ASSERT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming' AND application_name = '"+
			standbyName+"'); END $$")
	})
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Await sets whether commits wait until the standby has them.
func (p *Postgres) Await(ctx context.Context, standby bool) error {
	name := map[bool]string{true: standbyName}[standby]
	if err := p.execute(ctx, "ALTER SYSTEM SET synchronous_standby_names = '"+name+"'"); err != nil {
		return fmt.Errorf("naming the standby: %w", err)
	}
	if err := p.execute(ctx, "SELECT pg_reload_conf()"); err != nil {
		return fmt.Errorf("naming the standby: %w", err)
	}
	want := map[bool]string{true: "sync", false: "async"}[standby]
	return await(ctx, "a standby to be "+want, func(ctx context.Context) error {
		return p.execute(ctx, "DO $$ BEGIN ASSERT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = '"+want+"'); END $$")
	})
}

// Promote makes a standby the primary, and returns when it takes writes.
func (p *Postgres) Promote(ctx context.Context) error {
	if err := p.execute(ctx, "DO $$ BEGIN ASSERT pg_promote(); END $$"); err != nil {
		return fmt.Errorf("promoting a standby: %w", err)
	}
	return nil
}

// Shutdown ends the server in order: its standby then has all its data. Its files stay.
func (p *Postgres) Shutdown(ctx context.Context) error {
	if err := p.signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-p.process.life.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shutting PostgreSQL down: %w", context.Cause(ctx))
	}
}

// Pause freezes all processes of the server with SIGSTOP: until Kill, connections stay open, the kernel accepts new ones,
// and the server answers nothing.
func (p *Postgres) Pause() error {
	if !p.running() {
		return fmt.Errorf("pausing %s: %w", p.name, errNotRunning)
	}
	children, err := p.process.freeze()
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := child.Suspend(); err != nil && alive(child) {
			return fmt.Errorf("pausing process %d, a child of %d: %w", child.Pid, p.process.pid(), err)
		}
	}
	return nil
}
