package crowd

import (
	"context"
	"time"

	"inventory/loadtest/internal/worker"
)

// limit is how long callers may take beyond their window.
const limit = time.Minute

// Start starts a process for each job, by the command line of one that does Work, and waits until all are ready. A job
// is a [Job], or what the command makes one of.
func Start[J any](ctx context.Context, command []string, window time.Duration, jobs []J) (worker.All, error) {
	return worker.StartAll(ctx, command, window+limit, jobs)
}

// Sales waits for what each has bought, in the order of the jobs.
func Sales(all worker.All) ([]Sale, error) { return worker.Results[Sale](all) }

// Compete runs each job in a process of its own, all at once, and returns what they sold, in that order.
func Compete[J any](ctx context.Context, command []string, window time.Duration, jobs []J) ([]Sale, error) {
	return worker.Compete[Sale](ctx, command, window+limit, jobs)
}
