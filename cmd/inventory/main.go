// Command inventory sells stock that everyone wants at the same second.
//
//	inventory serve     the service
//	inventory demo      a flash sale over real HTTP, audited
//	inventory migrate   the database schema
//	inventory audit     does every unit add up?
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9/logging"
)

type commands struct {
	Serve   serveCommand   `cmd:"" help:"Run the service until SIGTERM or SIGINT."`
	Demo    demoCommand    `cmd:"" help:"Hold a flash sale over real HTTP, audit it and print a summary. Exit status 1 if the audit fails."`
	Migrate migrateCommand `cmd:"" help:"Change or show the database schema."`
	Audit   auditCommand   `cmd:"" help:"Recompute the balance of every SKU from the rows, on a live system too. Exit status 1 on any difference."`
}

// streams is where a command prints.
type streams struct {
	out io.Writer // results
	err io.Writer // logs, progress, errors
}

func main() {
	logging.Disable() // what go-redis logs, its errors say as well
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, s streams) int {
	var c commands
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("inventory"),
		kong.Description("Sells stock that everyone wants at the same second: exactly once, never below zero."),
		kong.DefaultEnvars("INVENTORY"),
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
	line := strings.Join(strings.Fields(err.Error()), " ")
	_, _ = fmt.Fprintln(s.err, "inventory:", line) // there is nowhere else to say it; the status says it too
	return 1
}
