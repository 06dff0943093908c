package servers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
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

// Environment asks the machine and the servers what figures depend on. A PostgreSQL that has to be durable is refused if its commits
// do not survive a power cut: its figures cannot be compared.
func (s *Servers) Environment(ctx context.Context, durable bool) (e report.Environment, err error) {
	e = Machine(ctx)
	err = errors.Join(AskPostgreSQL(ctx, s.DatabaseURL, &e), AskRedis(ctx, s.RedisURL, &e))
	if s.MongoDBURL != "" {
		err = errors.Join(err, askMongoDB(ctx, s.MongoDBURL, &e))
	}
	if fsync, commit := e.Of("fsync"), e.Of("synchronous_commit"); err == nil && durable && (fsync != "on" || commit != "on") {
		err = fmt.Errorf("PostgreSQL has fsync %s and synchronous_commit %s; both must be on", fsync, commit)
	}
	if err == nil && s.PostmasterPID != 0 { // its files are in a temporary folder
		files, err := disk.UsageWithContext(ctx, os.TempDir())
		if err != nil {
			return e, fmt.Errorf("look at the file system of PostgreSQL: %w", err)
		}
		e.Add("file system", files.Fstype)
	}
	return e, err
}

//go:embed settings.sql
var settings string

// AskPostgreSQL adds the version and settings of a PostgreSQL.
func AskPostgreSQL(ctx context.Context, databaseURL string, e *report.Environment) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := Connected(ctx, databaseURL, func(connection *pgx.Conn) error {
		rows, err := connection.Query(ctx, settings)
		if err != nil {
			return err
		}
		var name, setting string
		_, err = pgx.ForEachRow(rows, []any{&name, &setting}, func() error {
			e.Add(strings.Replace(name, "server_version", "PostgreSQL", 1), setting)
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("ask PostgreSQL for its settings: %w", err)
	}
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
	e.Add("Redis", info.Item("Server", "redis_version"))
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
	e.Add("MongoDB", server.Version)
	return nil
}

// Machine is the machine and the source of this program.
func Machine(ctx context.Context) (e report.Environment) {
	e.Add("system", runtime.GOOS+"/"+runtime.GOARCH)
	e.Add("processors", strconv.Itoa(runtime.NumCPU())+" for all")
	if all, err := cpu.InfoWithContext(ctx); err == nil && len(all) > 0 {
		e.Add("processor", all[0].ModelName)
	}
	e.Add("Go", runtime.Version())
	e.Add("revision", revision(ctx))
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

// gitTimeout bounds what git may take.
const gitTimeout = 5 * time.Second

// revision is the revision of the source in whose folder this program runs, with -dirty if a file of it has changed that is no page of
// results; "" where there is none.
func revision(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	changed := exec.CommandContext(ctx, "git", "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)docs/benchmarks")
	if changed.Run() != nil {
		return strings.TrimSpace(string(commit)) + "-dirty"
	}
	return strings.TrimSpace(string(commit))
}
