package servers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// Environment is what figures depend on beside what is measured.
type Environment struct {
	System            string `json:"system"`
	Processors        int    `json:"processors"` // shared by this program, its workers and the servers
	Go                string `json:"go"`
	PostgreSQL        string `json:"postgresql"`
	Fsync             string `json:"fsync"`
	SynchronousCommit string `json:"synchronous_commit"`
	FullPageWrites    string `json:"full_page_writes"`
	Redis             string `json:"redis"`
}

// String is the environment in a line.
func (e Environment) String() string {
	return fmt.Sprintf("%s, %d processors for all; %s; PostgreSQL %s (fsync %s, synchronous_commit %s); Redis %s",
		e.System, e.Processors, e.Go, e.PostgreSQL, e.Fsync, e.SynchronousCommit, e.Redis)
}

// settings are asked of PostgreSQL. In: nothing. Out: the version, and what makes commits durable.
const settings = `SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
       current_setting('full_page_writes')`

// LookAround asks the servers what they are. One whose commits do not survive a power cut is refused: its figures
// could not be compared.
func (u URLs) LookAround(ctx context.Context) (Environment, error) {
	e := Environment{System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Go: runtime.Version()}
	connection, err := pgx.Connect(ctx, u.DatabaseURL)
	if err != nil {
		return Environment{}, fmt.Errorf("reach PostgreSQL: %w", err)
	}
	err = connection.QueryRow(ctx, settings).Scan(&e.PostgreSQL, &e.Fsync, &e.SynchronousCommit, &e.FullPageWrites)
	if err := errors.Join(err, connection.Close(ctx)); err != nil {
		return Environment{}, fmt.Errorf("ask PostgreSQL for its settings: %w", err)
	}
	if e.Fsync != "on" || e.SynchronousCommit != "on" {
		return Environment{}, fmt.Errorf("PostgreSQL has fsync %s and synchronous_commit %s; both must be on", e.Fsync, e.SynchronousCommit)
	}
	e.Redis, err = redisVersion(ctx, u.RedisURL)
	return e, err
}

func redisVersion(ctx context.Context, redisURL string) (string, error) {
	options, err := redis.ParseURL(redisURL)
	if err != nil {
		return "", errors.New("redis URL: must be redis://HOST:PORT/DB or rediss://…") // err may quote a password
	}
	client := redis.NewClient(options)
	text, err := client.Info(ctx, "server").Result()
	if err := errors.Join(err, client.Close()); err != nil {
		return "", fmt.Errorf("reach Redis: %w", err)
	}
	_, version, _ := strings.Cut(text, "redis_version:")
	version, _, _ = strings.Cut(version, "\r\n")
	return version, nil
}
