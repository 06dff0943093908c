package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/loadtest/internal/worker"
)

// Process is a process of its own for the service.
type Process struct {
	Command  []string  // command line of a process that does Serve
	Logs     io.Writer // where the service logs
	LogLevel slog.Level
}

// processLimit is how long a service lives at most.
const processLimit = 7 * 24 * time.Hour

// Job is what a process of its own serves.
type Job struct {
	DatabaseURL  string        `json:"database_url"`
	RedisURL     string        `json:"redis_url"`
	Lock         string        `json:"lock"`          // kind of lock of the segments; "" is the default
	AnswerWithin time.Duration `json:"answer_within"` // 0 is the default
	LogLevel     slog.Level    `json:"log_level"`
	KeysFile     string        `json:"keys_file"` // of the API keys that it asks for over HTTP; "": it asks for none
}

// up is its report once it serves, or cannot.
type up struct {
	URL      string `json:"url"`
	AdminURL string `json:"admin_url"`
	Error    string `json:"error"`
}

// Service is a process that serves.
type Service struct {
	*worker.Process
	URL, AdminURL string
}

// Start starts the service in a process of its own, which the caller ends. It outlives ctx, so that requests under way are
// answered.
func (p Process) Start(ctx context.Context, j Job) (*Service, error) {
	j.LogLevel = p.LogLevel
	process, err := worker.StartLogging(context.WithoutCancel(ctx), p.Command, j, processLimit, p.Logs)
	if err != nil {
		return nil, err
	}
	said, err := process.ReadLine()
	var u up
	if err == nil {
		err = json.Unmarshal([]byte(said), &u)
	}
	if err == nil && u.Error != "" {
		err = errors.New(u.Error)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the service: %w", err), process.Kill())
	}
	return &Service{process, u.URL, u.AdminURL}, nil
}

// Serve is the work of that process: it reads its job, reports its URLs, and serves until its input is closed. Signals do not end
// it: the lab needs the answers to requests under way.
func Serve(ctx context.Context, in io.Reader, s cli.Streams) (err error) {
	ctx = context.WithoutCancel(ctx)
	j, lines, err := worker.Read[Job](in)
	if err != nil {
		return err
	}
	say := json.NewEncoder(s.Out)
	log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: j.LogLevel}))
	app.SpendMemory(log) // as `inventory serve` does
	service, err := app.Start(ctx, app.Config{
		DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, Lock: j.Lock, AnswerWithin: j.AnswerWithin, DrainTimeout: drainTimeout, Logger: log,
		Access: access.Config{KeysFile: j.KeysFile},
	})
	if err != nil {
		return say.Encode(up{Error: err.Error()})
	}
	err = say.Encode(up{URL: service.URL(), AdminURL: service.AdminURL()})
	lines.Scan() // until the input is closed
	return errors.Join(err, service.Close(ctx))
}
