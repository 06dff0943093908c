package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"go.mongodb.org/mongo-driver/v2/bson"

	"inventory/loadtest/internal/report"
)

// askTimeout bounds a question to a server.
const askTimeout = 10 * time.Second

// Environment asks the machine and the servers what figures depend on.
func (u URLs) Environment(ctx context.Context) (report.Environment, error) {
	e := Machine(ctx)
	err := errors.Join(AskPostgreSQL(ctx, u.DatabaseURL, &e), AskRedis(ctx, u.RedisURL, &e))
	if u.MongoDBURL != "" {
		err = errors.Join(err, askMongoDB(ctx, u.MongoDBURL, &e))
	}
	return e, err
}

// Durable is Environment, and refuses a PostgreSQL whose commits do not survive a power cut: its figures cannot be compared.
func (u URLs) Durable(ctx context.Context) (report.Environment, error) {
	e, err := u.Environment(ctx)
	if err == nil && (e.Fsync != "on" || e.SyncCommit != "on") {
		err = fmt.Errorf("PostgreSQL has fsync %s and synchronous_commit %s; both must be on", e.Fsync, e.SyncCommit)
	}
	return e, err
}

// fileSystem is the file system of the files of a PostgreSQL on this machine.
func fileSystem(ctx context.Context, databaseURL string) (string, error) {
	var folder string
	if err := ask(ctx, databaseURL, "SHOW data_directory", &folder); err != nil {
		return "", fmt.Errorf("ask PostgreSQL for its folder: %w", err)
	}
	usage, err := disk.UsageWithContext(ctx, folder)
	if err != nil {
		return "", fmt.Errorf("look at the file system of %s: %w", folder, err)
	}
	return usage.Fstype, nil
}

// ask runs a query of PostgreSQL with one row as its answer.
func ask(ctx context.Context, databaseURL, question string, into ...any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return Connected(ctx, databaseURL, func(connection *pgx.Conn) error { return connection.QueryRow(ctx, question).Scan(into...) })
}

// settings is a query of PostgreSQL. In: nothing. Out: the version, and what makes commits durable.
const settings = `SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
       current_setting('full_page_writes')`

// AskPostgreSQL adds the version and settings of a PostgreSQL.
func AskPostgreSQL(ctx context.Context, databaseURL string, e *report.Environment) error {
	var fullPageWrites string
	if err := ask(ctx, databaseURL, settings, &e.PostgreSQL, &e.Fsync, &e.SyncCommit, &fullPageWrites); err != nil {
		return fmt.Errorf("ask PostgreSQL for its settings: %w", err)
	}
	e.Measurement = append(e.Measurement, "full_page_writes "+fullPageWrites)
	return nil
}

// AskRedis adds the version of a Redis; of several with commas between their URLs that of the first, because they are alike.
func AskRedis(ctx context.Context, redisURL string, e *report.Environment) error {
	first, _, _ := strings.Cut(redisURL, ",")
	options, err := RedisOptions(first)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client := redis.NewClient(options)
	info := client.InfoMap(ctx, "server")
	if err := errors.Join(info.Err(), client.Close()); err != nil {
		return fmt.Errorf("reach Redis: %w", err)
	}
	e.Redis = info.Item("Server", "redis_version")
	return nil
}

// askMongoDB adds the version of a MongoDB.
func askMongoDB(ctx context.Context, mongoDBURL string, e *report.Environment) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	locks, disconnect, err := ConnectMongoDB(ctx, mongoDBURL)
	if err != nil {
		return err
	}
	var server struct {
		Version string `bson:"version"`
	}
	err = locks.Database().RunCommand(ctx, bson.M{"buildInfo": 1}).Decode(&server)
	if err := errors.Join(err, disconnect()); err != nil {
		return fmt.Errorf("ask MongoDB for its version: %w", err)
	}
	e.Measurement = append(e.Measurement, "MongoDB "+server.Version)
	return nil
}

// Machine is the machine and the source of this program.
func Machine(ctx context.Context) report.Environment {
	e := report.Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Revision: revision(ctx)}
	if all, err := cpu.InfoWithContext(ctx); err == nil && len(all) > 0 {
		e.CPU = all[0].ModelName
	}
	return e
}

const (
	look       = time.Second // at the machine
	quietBelow = 10          // percent of all processors
)

// lookAround returns how busy the machine is before a measurement, and whether it is quiet.
func lookAround(ctx context.Context) (line string, quiet bool, err error) {
	busy, err := cpu.PercentWithContext(ctx, look, false)
	if err != nil {
		return "", false, fmt.Errorf("look how busy the machine is: %w", err)
	}
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		return "", false, fmt.Errorf("look how busy the machine is: %w", err)
	}
	quiet = busy[0] < quietBelow
	return fmt.Sprintf("the machine was %s before the start: %.0f%% of all processors busy for a second, load average %.2f",
		map[bool]string{true: "quiet", false: "NOT quiet"}[quiet], busy[0], average.Load1), quiet, nil
}

// inMemory reports whether a file system keeps nothing on a disk.
func inMemory(fileSystem string) bool { return slices.Contains([]string{"tmpfs", "ramfs"}, fileSystem) }

// gitTimeout bounds what git may take.
const gitTimeout = 5 * time.Second

// revision is the revision of the source in whose folder this program runs, with -dirty if a file of it has changed; "" where there
// is none.
func revision(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
