// Command loadtest is the load lab: it sends load to the service over real HTTP, measures, and audits what came of it.
//
//	go run ./loadtest list
//
// explains the scenarios. Each is a sub-command, whose flags and run are in this package, and whose work is in a package of its
// own under internal. It makes a report (internal/report), which deliver.go writes. Reports go to standard output; progress,
// logs and errors to standard error.
package main

import (
	"context"
	"errors"

	"github.com/alecthomas/kong"

	"inventory/internal/cli"
	"inventory/loadtest/internal/afternoon"
	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/lockbench"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
	"inventory/loadtest/internal/worker"
)

// scenarios are the sub-commands.
type scenarios struct {
	Explain    explainCommand    `cmd:"" help:"Tell what batches, segments, locks and processes each buy, and what to do. Exit status 1 if the rows do not add up."`
	FlashSale  flashSaleCommand  `cmd:"" help:"Sell one hot SKU to buyers who come when they like, from before the sale opens until after it has sold out, and hold the answers against the rows. Exit status 1 if a request failed or anything does not add up."`
	Replay     replayCommand     `cmd:"" help:"Replay the order lines of a real shop, and hold the answers against the rows. Exit status 1 if any line failed or anything does not add up."`
	Locks      locksCommand      `cmd:"" help:"Compare our kinds of locks with their peers, in one run. Exit status 1 if one of ours let two in at once, or failed."`
	Contenders contendersCommand `cmd:"" help:"Compare the ways to sell one hot SKU, in one run: inside the process, and over HTTP. Exit status 1 if the rows do not add up, or one of ours failed."`

	Chaos chaosCommand `cmd:"" help:"Have the whole service sell while everything goes wrong, and hold what callers saw against the rows. Exit status 1 if a promise was broken."`

	List listCommand `cmd:"" help:"Explain the scenarios: what each does and shows, how long it takes, and what it needs."`
}

func main() {
	worker.Main(workers())
	cli.Main(&scenarios{}, options()...)
}

func options() []kong.Option {
	return []kong.Option{
		kong.Name("loadtest"),
		kong.Description("The load lab: what segments and lock kinds buy, in numbers."),
		kong.PostBuild(addAbouts),
	}
}

// targetFlags choose where the load goes.
type targetFlags struct{ target.Config }

// Validate returns an error that names flags that exclude each other.
func (f targetFlags) Validate() error { return f.Check() }

// at measures at the target of the flags. A service inside runs in a process of its own.
func (f targetFlags) at(ctx context.Context, s cli.Streams, measure func(to *target.Target) (report.Document, error)) (d report.Document, err error) {
	f.Process = target.Process{Logs: s.Err, LogLevel: f.LogLevel}
	to, err := target.Open(ctx, f.Config)
	if err != nil {
		return report.Document{}, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return measure(to)
}

// workers are the parts of scenarios that have processes of their own, of this program.
func workers() map[string]worker.Work {
	return map[string]worker.Work{
		target.Worker:    target.Serve,    // a service under load
		crowd.Worker:     crowd.Work,      // a service with a crowd of callers inside
		afternoon.Worker: afternoon.Serve, // the service of an afternoon
		lockbench.Worker: lockbench.Work,  // callers who compete with others for a lock
		breaks.Worker:    breaks.Hold,     // a lock, while something happens to it
	}
}
