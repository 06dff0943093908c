// Command loadtest is the load lab: it sends load to the service over real HTTP, measures, and audits what came of it.
//
//	go run ./loadtest replay     the order lines of a real shop
//
// Each scenario is a sub-command: its flags and its run are in the file of its name, what it does is in a package of
// its own under internal. Where the load goes is the same for all of them (internal/target). Results go to standard
// output; progress, logs and errors to standard error.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9/logging"

	"inventory/loadtest/internal/target"
)

// scenarios are the sub-commands.
type scenarios struct {
	Replay replayCommand `cmd:"" help:"Replay the order lines of a real shop, and hold the answers against the rows. Exit status 1 if any line failed or anything does not add up."`
}

// streams is where a scenario prints.
type streams struct {
	out io.Writer // results
	err io.Writer // logs, progress, errors
}

func main() {
	logging.Disable() // what go-redis logs, its errors say as well
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second ctrl-C does not wait for the clean end of the first
	code := run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, s streams) int {
	var c scenarios
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("loadtest"),
		kong.Description("The load lab: what segments and lock kinds buy, in numbers."),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)
	if err != nil {
		return fail(s, err)
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		return fail(s, err)
	}
	if err := parsed.Run(); err != nil {
		return fail(s, err)
	}
	return 0
}

// fail tells the user what went wrong, once and in one line.
func fail(s streams, err error) int {
	// If standard error is closed, the exit status is all there is to tell.
	_, _ = fmt.Fprintln(s.err, "loadtest:", strings.Join(strings.Fields(err.Error()), " "))
	return 1
}

// targetFlags choose where the load goes.
type targetFlags struct {
	PrivateServers bool       `help:"Start a PostgreSQL and a Redis for this run alone, and the service inside on them. Default: off."`
	DatabaseURL    string     `help:"Start the service inside on this database, or audit that of --url: postgres://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:FILE. Default: a temporary SQLite file." placeholder:"URL"`
	RedisURL       string     `help:"Start the service inside on this Redis: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one inside the process." placeholder:"URL"`
	LogLevel       slog.Level `help:"Least level of what the service inside logs: debug, info, warn or error. Default: ${default}." default:"error" placeholder:"LEVEL"`
	URL            []string   `help:"Base URLs of running services that share a database, separated by commas; needs --database-url. Default: start the service inside." placeholder:"URL"`
}

// config is what the flags say.
func (f targetFlags) config(s streams) target.Config {
	return target.Config{
		Private: f.PrivateServers, DatabaseURL: f.DatabaseURL, RedisURL: f.RedisURL, ServiceURLs: f.URL,
		Logger: slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: f.LogLevel})),
	}
}
