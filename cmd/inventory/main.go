// Command inventory sells stock that everyone wants at the same second.
//
//	inventory serve     the service
//	inventory demo      a flash sale over real HTTP, audited
//	inventory migrate   the database schema
//	inventory audit     does every unit add up?
//	inventory key       API keys
//	inventory outbox    what became of orders, for programs that pass it on
package main

import (
	"github.com/alecthomas/kong"

	"inventory/internal/cli"
)

type commands struct {
	Serve   serveCommand   `cmd:"" help:"Run the service until SIGTERM or SIGINT."`
	Demo    demoCommand    `cmd:"" help:"Hold a flash sale over real HTTP, audit it and print a summary. Exit status 1 if the audit fails."`
	Migrate migrateCommand `cmd:"" help:"Change or show the database schema."`
	Audit   auditCommand   `cmd:"" help:"Recompute the balance of every SKU from the rows, on a live system too. Exit status 1 on any difference."`
	Key     keyCommand     `cmd:"" help:"API keys of callers."`
	Outbox  outboxCommand  `cmd:"" help:"List what became of orders, for programs that pass it on to a queue."`
}

// BeforeResolve checks the settings before kong uses them.
func (*commands) BeforeResolve(parsed *kong.Context, s cli.Streams) error {
	return cli.CheckSettings(parsed, prefix, s)
}

// prefix begins the names of variables in the environment.
const prefix = "INVENTORY"

func main() {
	cli.Main(&commands{}, options()...)
}

func options() []kong.Option {
	return []kong.Option{
		kong.Name("inventory"),
		kong.Description("Sells stock that everyone wants at the same second: exactly once, never below zero."),
		kong.DefaultEnvars(prefix),
	}
}
