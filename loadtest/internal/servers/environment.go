package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/shirou/gopsutil/v4/disk"
	"go.mongodb.org/mongo-driver/v2/bson"

	"inventory/loadtest/internal/report"
)

// askTimeout bounds what a server may take to tell what it is.
const askTimeout = 10 * time.Second

// Environment is what figures depend on beside what is measured: this machine and the servers, each of which is asked.
func (u URLs) Environment(ctx context.Context) (report.Environment, error) {
	e := Machine(ctx)
	err := errors.Join(AskPostgreSQL(ctx, u.DatabaseURL, &e), AskRedis(ctx, u.RedisURL, &e))
	if u.MongoDBURL != "" {
		err = errors.Join(err, askMongoDB(ctx, u.MongoDBURL, &e))
	}
	return e, err
}

// Durable is Environment of servers that keep what they have promised. A PostgreSQL whose commits do not survive a power
// cut is refused: its figures could not be compared.
func (u URLs) Durable(ctx context.Context) (report.Environment, error) {
	e, err := u.Environment(ctx)
	if err == nil && (e.Fsync != "on" || e.SyncCommit != "on") {
		err = fmt.Errorf("PostgreSQL has fsync %s and synchronous_commit %s; both must be on", e.Fsync, e.SyncCommit)
	}
	return e, err
}

// Durable is that of all servers, with the file system of a PostgreSQL that was started here: the one of the server knows
// nothing of what lies below its folder.
func (s *Servers) Durable(ctx context.Context) (report.Environment, error) {
	e, err := s.URLs.Durable(ctx)
	if err != nil || s.PostmasterPID == 0 {
		return e, err
	}
	var folder string // where it says that its files are
	if err := ask(ctx, s.DatabaseURL, "SHOW data_directory", &folder); err != nil {
		return e, fmt.Errorf("ask PostgreSQL for its folder: %w", err)
	}
	usage, err := disk.UsageWithContext(ctx, folder)
	if err != nil {
		return e, fmt.Errorf("look at the file system of %s: %w", folder, err)
	}
	e.FileSystem = usage.Fstype
	return e, nil
}

// ask asks a PostgreSQL one thing.
func ask(ctx context.Context, databaseURL, question string, into ...any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return Connected(ctx, databaseURL, func(connection *pgx.Conn) error { return connection.QueryRow(ctx, question).Scan(into...) })
}

// settings are asked of PostgreSQL. In: nothing. Out: the version, and what makes commits durable.
const settings = `SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
       current_setting('full_page_writes')`

// AskPostgreSQL adds what a PostgreSQL tells of itself.
func AskPostgreSQL(ctx context.Context, databaseURL string, e *report.Environment) error {
	var fullPageWrites string
	if err := ask(ctx, databaseURL, settings, &e.PostgreSQL, &e.Fsync, &e.SyncCommit, &fullPageWrites); err != nil {
		return fmt.Errorf("ask PostgreSQL for its settings: %w", err)
	}
	e.Measurement = append(e.Measurement, "full_page_writes "+fullPageWrites)
	return nil
}

// AskRedis adds what a Redis tells of itself: of several, with commas between their URLs, the first, for they are alike.
func AskRedis(ctx context.Context, redisURL string, e *report.Environment) error {
	first, _, _ := strings.Cut(redisURL, ",")
	options, err := RedisOptions(first)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client := redis.NewClient(options)
	told := client.InfoMap(ctx, "server")
	if err := errors.Join(told.Err(), client.Close()); err != nil {
		return fmt.Errorf("reach Redis: %w", err)
	}
	e.Redis = told.Item("Server", "redis_version")
	return nil
}

// askMongoDB adds which server speaks MongoDB's protocol. FerretDB tells its own version beside the one that it stands in for.
func askMongoDB(ctx context.Context, mongoDBURL string, e *report.Environment) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	locks, disconnect, err := ConnectMongoDB(ctx, mongoDBURL)
	if err != nil {
		return err
	}
	var told struct {
		Version  string `bson:"version"`
		FerretDB string `bson:"ferretdbVersion"`
	}
	err = locks.Database().RunCommand(ctx, bson.M{"buildInfo": 1}).Decode(&told)
	if err := errors.Join(err, disconnect()); err != nil {
		return fmt.Errorf("ask MongoDB for its version: %w", err)
	}
	name := "MongoDB " + told.Version
	if told.FerretDB != "" {
		name = "FerretDB " + told.FerretDB + " in the place of MongoDB"
	}
	e.Measurement = append(e.Measurement, name)
	return nil
}
