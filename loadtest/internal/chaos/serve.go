package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/loadtest/internal/worker"
)

// Job is what a process is told to do.
type Job struct {
	DatabaseURL string `json:"database_url"`
	RedisURL    string `json:"redis_url"`
	Lock        string `json:"lock"`
}

// Up is what a process says when it serves, or cannot.
type Up struct {
	URL   string `json:"url"`
	Error string `json:"error"`
}

// drainTimeout bounds the end of a process that is told to end.
const drainTimeout = 5 * time.Second

// Serve is the service in a process that was started for a run. It reads its job, tells where it is, and serves until
// nobody talks to it any more.
func Serve(ctx context.Context, in io.Reader, s cli.Streams) error {
	ctx = context.WithoutCancel(ctx)
	j, lines, err := worker.Read[Job](in)
	if err != nil {
		return err
	}
	say := json.NewEncoder(s.Out)
	app.SpendMemory(nil) // as `inventory serve` does
	service, err := app.Start(ctx, app.Config{
		DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, Lock: j.Lock, DrainTimeout: drainTimeout,
		Logger: slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return say.Encode(Up{Error: err.Error()})
	}
	err = say.Encode(Up{URL: service.URL()})
	lines.Scan() // until nobody talks any more
	return errors.Join(err, service.Close(ctx))
}
