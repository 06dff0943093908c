package crowd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/target"
)

// Job is what a process of its own shall do.
type Job struct {
	DatabaseURL string        `json:"database_url"`
	RedisURL    string        `json:"redis_url"`
	Lock        string        `json:"lock"` // its kind; "" is the default
	SKU         string        `json:"sku"`
	Callers     int           `json:"callers"`
	Window      time.Duration `json:"window"`
	Patient     bool          `json:"patient"` // whether the callers are
}

const (
	ready   = "ready" // says a process when it is
	goAhead = "go"    // says the lab when all are
)

// Work does the job of a process that the lab has started, which is the first line of what the lab says.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return errors.New("there is no job")
	}
	var j Job
	if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	return j.Do(ctx, lines, out)
}

// Do lets callers buy when the lab says so, and tells what came of it.
func (j Job) Do(ctx context.Context, lines *bufio.Scanner, out io.Writer) error {
	return WithService(ctx, app.Config{
		DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, Lock: j.Lock, AnswerWithin: target.AnswerWithin,
	}, func(service *app.App) error {
		if _, err := fmt.Fprintln(out, ready); err != nil {
			return fmt.Errorf("talk to the lab: %w", err)
		}
		if !lines.Scan() || lines.Text() != goAhead {
			return errors.New("nobody said go")
		}
		sell := Through(service.Service())
		if j.Patient {
			sell = Patient(sell)
		}
		s, err := Buy(ctx, j.SKU, j.Callers, j.Window, sell)
		if err != nil {
			return err
		}
		if ctx.Err() == nil { // or else nobody looks at them any more
			if s.Lanes, err = readLanes(ctx, service); err != nil {
				return err
			}
		}
		return json.NewEncoder(out).Encode(s)
	})
}

// drainTimeout is for what is in flight when a service ends.
const drainTimeout = 10 * time.Second

// WithService starts the service as the product does, with its metrics, for some work.
func WithService(ctx context.Context, config app.Config, work func(service *app.App) error) error {
	config.DrainTimeout = drainTimeout
	app.SpendMemory(config.Logger) // as `inventory serve` does
	service, err := app.Start(ctx, config)
	if err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	return errors.Join(work(service), service.Close(context.WithoutCancel(ctx)))
}
