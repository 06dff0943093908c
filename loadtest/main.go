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
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"inventory/internal/cli"
	"inventory/loadtest/internal/afternoon"
	"inventory/loadtest/internal/breaks"
	"inventory/loadtest/internal/contenders"
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

	Years yearsCommand `cmd:"" help:"Carry out each read and write on the database of a shop that is years old, and on one that is new, and count what each touches. Exit status 1 if an operation failed."`

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

// about is what --help and list say of a scenario in addition to its flags: what one learns from it, how long it takes, what it needs
// in addition to Go, and what it consists of.
func about(shows, takes, needs string, more ...string) string {
	return strings.Join(append([]string{"Shows: " + shows, "Takes: " + takes, "Needs: " + needs}, more...), "\n\n")
}

// The needs of scenarios: servers of their own, those or others, anything.
const (
	needsPrograms = "the programs of PostgreSQL and Redis (scripts/install-servers finds them), of which it starts its own"
	needsServers  = needsPrograms + "; or servers of yours: --database-url, --redis-url."
	needsNothing  = "nothing. With --private-servers the programs of PostgreSQL and Redis; or a service of yours: --url."
)

// abouts are those of all scenarios, by the names of their commands.
func abouts() map[string]string {
	return map[string]string{
		"explain": about("in four rows what batches, segments, locks and processes each buy, and what to do; below them all combinations, with intervals.",
			"about three minutes; --for says otherwise; with --quick 20 seconds.", needsServers),
		"flash-sale": about("latencies from the planned send across the opening and the sell-out, false sold-outs, what is "+
			"stranded, what retries are told, and how far the generator lagged.",
			"about a minute and a half; with --quick under 20 seconds.", needsNothing),
		"replay": about("what becomes of each of 22,523 order lines of nine days when 80% of the stock is there, latencies by outcome, and whether the rows agree.",
			"under a minute; with --quick seconds.", needsNothing),
		"locks": about("cycles a second, waits, fairness and commands of each kind of lock, beside bsm/redislock, redsync and the locks of textbooks, "+
			"from one caller to three processes; with --break, what becomes of those on Redis when the holder dies, stands still, or loses its network or its unlock.",
			"about five minutes; with --quick 20 seconds, or with --break 15.", needsServers+" ZooKeeper and MongoDB too where they are installed.",
			"Cases: "+strings.Join(lockbench.Names(), ", ")+".", "Faults of --break: "+strings.Join(breaks.Names(), "; ")+"."),
		"contenders": about("accepted orders a second and latencies of each design, from a row with a conditional UPDATE to this service over HTTP, "+
			"with ratios within each round; of one hot SKU, of mixes of many, and of baskets. The case afternoon has the table of the README.",
			"about half an hour, the case afternoon alone four minutes; with --quick under three minutes.", needsServers,
			"Cases: "+strings.Join(contenders.Names(), ", ")+"."),
		"years": about("what each read and write costs among millions of orders, in time and in pages touched, beside the same one on a new database.",
			"about four minutes; --orders says otherwise; with --quick under 20 seconds.", needsServers),
		"chaos": about("whether each promise of the service holds while processes, PostgreSQL, Redis and the network between them fail: nothing "+
			"oversold, lost or taken twice, refusals that are true and final, and how soon the sale goes on after each kind of fault; with --fault none, "+
			"how memory, goroutines and tables grow.", "three minutes; --rounds and --for say otherwise; with --quick under 20 seconds.", needsPrograms+"."),
	}
}

// addAbouts puts them into the grammar.
func addAbouts(k *kong.Kong) error {
	for _, leaf := range k.Model.Leaves(true) {
		if a, has := abouts()[leaf.Name]; has {
			leaf.Detail = a
		}
	}
	return nil
}

type listCommand struct{}

// Run explains the scenarios of the grammar.
func (*listCommand) Run(parsed *kong.Context, s cli.Streams) error {
	text := ""
	for _, leaf := range parsed.Model.Leaves(true) {
		if leaf.Detail != "" { // otherwise it is this list
			text += fmt.Sprintf("%s\n  %s\n  %s\n\n", leaf.Name, leaf.Help, strings.ReplaceAll(leaf.Detail, "\n\n", "\n  "))
		}
	}
	text += "Every scenario tells of its flags: go run ./loadtest SCENARIO --help.\n"
	if _, err := io.WriteString(s.Out, text); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	return nil
}
