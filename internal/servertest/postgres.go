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
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/deploy/compose"
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
	creates  *administrator
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
	return started(p, p.setUp(ctx, p.initialize))
}

// setUp starts the server with a data folder that fill makes.
func (p *Postgres) setUp(ctx context.Context, fill func(ctx context.Context) error) error {
	if err := p.open(ctx, p.parent, fill); err != nil {
		return err
	}
	p.creates = newAdministrator(p.URL())
	return nil
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
// connections that are still open. The server ends no transaction of a session
// with this URL for waiting for its client.
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
	if err := p.creates.run(create); err != nil {
		return "", nil, fmt.Errorf("creating a database: %w", err)
	}
	drop := func(context.Context) error {
		if err := p.creates.run(fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", pgx.Identifier{name}.Sanitize())); err != nil {
			return fmt.Errorf("dropping the database %s: %w", name, err)
		}
		return nil
	}
	return p.databaseURL(name) + patientTransactions, drop, nil
}

// patientTransactions in a URL lets a process that gets little of a busy machine finish its transactions: the service lets the server end
// one that has waited for its client for seconds.
const patientTransactions = "&idle_in_transaction_session_timeout=120s"

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
	p.creates.close()
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
	p, err := newPostgres(append(options,
		Setting("primary_conninfo", "host=127.0.0.1 port="+port+" user="+postgresUser+" application_name="+standbyName),
		Setting("max_standby_streaming_delay", "-1"))) // what the primary cleans up never cancels our statements here, as a promotion
	if err != nil {
		return nil, err
	}
	err = p.setUp(ctx, func(ctx context.Context) error {
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

// Citus is a cluster of private PostgreSQL servers. Without workers the coordinator has all shards.
type Citus struct {
	Coordinator *Postgres
	Workers     []*Postgres
	options     []PostgresOption
	making      sync.Mutex // a database: adding a node changes roles, which all databases share
}

// citusSettings returns the settings of every node, which are those of docker-compose.
func citusSettings() (settings []PostgresOption) {
	for line := range strings.Lines(compose.Citus) {
		line, _, _ = strings.Cut(line, "#")
		if name, value, is := strings.Cut(line, " = "); is {
			settings = append(settings, Setting(name, strings.Trim(strings.TrimSpace(value), "'")))
		}
	}
	return settings
}

// StartCitus starts a coordinator and that many workers. The extension must be installed.
func StartCitus(ctx context.Context, workers int, options ...PostgresOption) (*Citus, error) {
	c := &Citus{options: append(citusSettings(), options...)}
	var err error
	if c.Coordinator, err = StartPostgres(ctx, c.options...); err != nil {
		return nil, err
	}
	for range workers {
		if _, err := c.StartWorker(ctx); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	return c, nil
}

// Options returns the options of each node, for a standby of one.
func (c *Citus) Options() []PostgresOption { return c.options }

// StartWorker starts one more server. Databases that are created later have it as a node; [Citus.Join] adds it to an
// existing one.
func (c *Citus) StartWorker(ctx context.Context) (*Postgres, error) {
	worker, err := StartPostgres(ctx, c.options...)
	if err != nil {
		return nil, err
	}
	c.Workers = append(c.Workers, worker)
	return worker, nil
}

// CreateDatabase makes an empty database with a fresh name on all nodes, and returns its URL at the coordinator. The
// returned drop removes it again.
func (c *Citus) CreateDatabase(ctx context.Context) (string, func(context.Context) error, error) {
	c.making.Lock()
	defer c.making.Unlock()
	at, drop, err := c.Coordinator.CreateDatabase(ctx, "")
	if err != nil {
		return "", nil, err
	}
	statement := fmt.Sprintf("CREATE EXTENSION citus; SELECT citus_set_coordinator_host('127.0.0.1', %d)", c.Coordinator.port)
	if len(c.Workers) == 0 {
		statement += fmt.Sprintf("; SELECT citus_set_node_property('127.0.0.1', %d, 'shouldhaveshards', true)", c.Coordinator.port)
	}
	if err := executeAt(ctx, at, statement); err != nil {
		return "", nil, errors.Join(fmt.Errorf("making a database of Citus: %w", err), drop(ctx))
	}
	for _, worker := range c.Workers {
		if err := c.Join(ctx, at, worker); err != nil {
			return "", nil, errors.Join(err, drop(ctx))
		}
	}
	return at, func(ctx context.Context) error { return c.drop(ctx, at, drop) }, nil
}

// Join makes a worker a node of a database. The worker gets no shards by that.
func (c *Citus) Join(ctx context.Context, databaseURL string, worker *Postgres) error {
	name, err := databaseName(databaseURL)
	if err != nil {
		return err
	}
	there, err := worker.At(databaseURL)
	if err != nil {
		return err
	}
	if err := worker.execute(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE template0"); err != nil {
		return fmt.Errorf("making a database on a worker: %w", err)
	}
	if err := executeAt(ctx, there, "CREATE EXTENSION citus"); err != nil {
		return fmt.Errorf("making a database on a worker: %w", err)
	}
	if err := executeAt(ctx, databaseURL, fmt.Sprintf("SELECT citus_add_node('127.0.0.1', %d)", worker.port)); err != nil {
		return fmt.Errorf("adding a node: %w", err)
	}
	return nil
}

// drop removes a database on all nodes that run.
func (c *Citus) drop(ctx context.Context, databaseURL string, atCoordinator func(context.Context) error) error {
	name, err := databaseName(databaseURL)
	if err != nil {
		return err
	}
	// The daemon of Citus for each database may connect again before the database is dropped.
	return await(ctx, "a database of Citus to go", func(ctx context.Context) error {
		errs := []error{atCoordinator(ctx)}
		for _, worker := range c.Workers {
			errs = append(errs, worker.execute(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"))
		}
		return errors.Join(errs...)
	})
}

// Stop ends all servers and removes their folders.
func (c *Citus) Stop() error {
	errs := []error{c.Coordinator.Stop()}
	for _, worker := range c.Workers {
		errs = append(errs, worker.Stop())
	}
	return errors.Join(errs...)
}

// At returns the URL of a database of the same name at this server.
func (p *Postgres) At(databaseURL string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", fmt.Errorf("reading the URL of a database: %w", err)
	}
	u.Host = p.Addr()
	return u.String(), nil
}

// Port returns the server's port.
func (p *Postgres) Port() int { return p.port }
