// Package crowd lets processes of their own sell one SKU, each of which runs the service as the product does and has its
// callers inside ([Shop], [Work]).
package crowd

import (
	"context"
	"time"

	"inventory/loadtest/internal/load"
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
func Sales(all worker.All) ([]load.Sale, error) { return worker.Results[load.Sale](all) }

// Compete runs each job in a process of its own, all at once, and returns what they sold, in that order.
func Compete[J any](ctx context.Context, command []string, window time.Duration, jobs []J) ([]load.Sale, error) {
	return worker.Compete[load.Sale](ctx, command, window+limit, jobs)
}
