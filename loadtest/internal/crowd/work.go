// Package crowd has processes that sell: each runs the service as the product does, with callers inside.
package crowd

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"slices"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/target"
	"inventory/loadtest/internal/worker"
)

// Job is what a process of its own shall do.
type Job struct {
	DatabaseURL string        `json:"database_url"`
	RedisURL    string        `json:"redis_url"`
	Lock        string        `json:"lock"`        // its kind; "" is the default
	BatchLimit  int           `json:"batch_limit"` // orders of one write; 0: as many as pay
	SKU         string        `json:"sku"`
	Callers     int           `json:"callers"`
	WarmUp      time.Duration `json:"warm_up"` // before the window
	Window      time.Duration `json:"window"`
}

// limit is how long callers may take beyond their window.
const limit = time.Minute

// Worker is the kind of the processes that sell.
const Worker = "crowd"

// Share has some processes do the job, and share its callers.
func (j Job) Share(ctx context.Context, processes int) ([]load.Sale, error) {
	jobs := slices.Repeat([]Job{j}, processes)
	for i := range jobs {
		jobs[i].Callers = (j.Callers + i) / processes
	}
	return worker.Compete[load.Sale](ctx, Worker, j.WarmUp+j.Window+limit, jobs)
}

// Work is a process that starts the service as the product does, with its metrics. Callers buy when the lab says so, and the
// sale is the answer.
func Work(ctx context.Context, lab *worker.Lab) (err error) {
	var j Job
	if err := lab.Read(&j); err != nil {
		return err
	}
	config := app.Config{
		DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, Lock: j.Lock, BatchLimit: j.BatchLimit,
		AnswerWithin: target.AnswerWithin, DrainTimeout: 10 * time.Second,
	}
	app.SpendMemory(nil) // as `inventory serve` does
	service, err := app.Start(ctx, config)
	if err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	defer func() { err = errors.Join(err, service.Close(context.WithoutCancel(ctx))) }()
	if err := lab.Go(); err != nil {
		return err
	}
	s, err := load.Buy(ctx, j.SKU, j.Callers, j.WarmUp, j.Window, load.Patient(load.Through(service.Service())))
	if err != nil {
		return err
	}
	s.GCPercent = gcPercent()
	if ctx.Err() == nil { // otherwise they are not used
		if s.Lanes, err = load.ReadLanes(ctx, service.AdminURL()); err != nil {
			return err
		}
	}
	return lab.Say(s)
}

// gcPercent is how far the heap of this process may grow between two collections.
func gcPercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
