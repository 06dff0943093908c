package target

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/loadtest/internal/worker"
)

// Process is a process of its own for the service.
type Process struct {
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

// Service is a process that serves.
type Service struct {
	*worker.Process
	urls
}

// urls is what it says when it serves.
type urls struct {
	URL      string `json:"url"`
	AdminURL string `json:"admin_url"`
}

// Worker is the kind of a process that serves.
const Worker = "service"

// Start starts the service in a process of its own, which the caller ends. It outlives ctx, so that requests under way are
// answered.
func (p Process) Start(ctx context.Context, j Job) (s *Service, err error) {
	s, j.LogLevel = &Service{}, p.LogLevel
	s.Process, err = worker.Start(context.WithoutCancel(ctx), worker.Job{Kind: Worker, Job: j, Limit: processLimit, Logs: p.Logs}, &s.urls)
	return s, err
}

// Serve is the work of that process: it serves until the lab needs it no more. Signals do not end it: the lab needs the answers to
// requests under way.
func Serve(ctx context.Context, lab *worker.Lab) (err error) {
	ctx = context.WithoutCancel(ctx)
	var j Job
	if err := lab.Read(&j); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(lab.Errs, &slog.HandlerOptions{Level: j.LogLevel}))
	app.SpendMemory(log) // as `inventory serve` does
	service, err := app.Start(ctx, app.Config{
		DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, Lock: j.Lock, AnswerWithin: j.AnswerWithin, DrainTimeout: drainTimeout, Logger: log,
		Access: access.Config{KeysFile: j.KeysFile},
	})
	if err != nil {
		return err
	}
	return errors.Join(lab.Serve(urls{service.URL(), service.AdminURL()}), service.Close(ctx))
}
