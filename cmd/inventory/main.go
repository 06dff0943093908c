// Command inventory sells stock that everyone wants at the same second.
//
//	inventory serve     the service
//	inventory demo      a flash sale over real HTTP, audited
//	inventory migrate   the database schema
//	inventory audit     does every unit add up?
//	inventory prune     old orders of archived SKUs
//	inventory forget    a buyer
//	inventory key       API keys
//	inventory import    SKUs of a table, at a running service
//	inventory orders    indexes for lists of orders
//	inventory export    orders, as CSV or JSON
//	inventory outbox    the outcomes of orders, for programs that pass them on
//	inventory completion
//
// It exits with 0 on success, with 1 if something failed, with 2 if the call can never work, and with 3 if an audit has
// found something, or an import SKUs that differ.
package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/alecthomas/kong"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/stock"
)

type commands struct {
	Version kong.VersionFlag `help:"Print the version." env:"-"`

	Serve      serveCommand      `cmd:"" group:"sell" help:"Run the service until SIGTERM or SIGINT."`
	Demo       demoCommand       `cmd:"" group:"sell" help:"Run a flash sale over real HTTP, audit it and print a summary. Exit status 3 if the audit finds something."`
	Migrate    migrateCommand    `cmd:"" group:"look-after" help:"Change or show the database schema."`
	Audit      auditCommand      `cmd:"" group:"look-after" help:"Recompute the balance of every SKU from the rows, also while services sell. Exit status 3 on any difference."`
	Prune      pruneCommand      `cmd:"" group:"look-after" help:"Fold old orders of archived SKUs into a sum for each SKU, so that tables stop growing. It works while services sell."`
	Forget     forgetCommand     `cmd:"" group:"look-after" help:"Forget a buyer: a hash takes the place of the id everywhere, and limits go on."`
	Import     importCommand     `cmd:"" group:"look-after" help:"Create the SKUs of a CSV file at a running service, and report those that are there and differ. Exit status 3 if one differs."`
	Orders     ordersCommand     `cmd:"" group:"look-after" help:"Turn lists of orders by buyer and time on or off: GET /v1/orders, and export."`
	Export     exportCommand     `cmd:"" group:"look-after" help:"Print orders by time, as CSV or JSON lines."`
	Outbox     outboxCommand     `cmd:"" group:"look-after" help:"List the outcomes of orders, for programs that pass them on to a queue."`
	Key        keyCommand        `cmd:"" group:"look-after" help:"API keys of callers."`
	Completion completionCommand `cmd:"" group:"shell" help:"Print the script with which a shell completes commands and flags."`
}

// BeforeResolve checks the settings before kong uses them.
func (*commands) BeforeResolve(parsed *kong.Context) error {
	return cli.CheckSettings(parsed, prefix)
}

// prefix starts the names of variables in the environment.
const prefix = "INVENTORY"

func main() {
	cli.Main(&commands{}, options()...)
}

func options() []kong.Option {
	return []kong.Option{
		kong.Name("inventory"),
		kong.Description("Sells stock that everyone wants at the same second: exactly once, never below zero."),
		kong.Vars{"version": app.ThisBuild().String()},
		kong.ExplicitGroups(groups()),
		kong.DefaultEnvars(prefix),
	}
}

// groups are the headings of the help, in their order.
func groups() []kong.Group {
	return []kong.Group{
		{Key: "sell", Title: "Sell"},
		{Key: "look-after", Title: "Look after it"},
		{Key: "shell", Title: "In a shell"},
		{Key: "servers", Title: "Servers"},
		{Key: "listeners", Title: "Listeners"},
		{Key: "keys", Title: "Keys and TLS"},
		{Key: "tokens", Title: "Tokens of buyers"},
		{Key: "limits", Title: "Limits"},
		{Key: "stopping", Title: "Time-outs and stopping"},
		{Key: "logs", Title: "Logs"},
		{Key: "sale", Title: "The sale"},
		{Key: "watch", Title: "In a browser"},
	}
}

// Exit statuses. 0 is success.
const (
	statusFailed = 1 // it failed this time
	statusUsage  = 2 // this call can never work
	statusFound  = 3 // it worked, and found a fault
)

// usageError is about the command line.
type usageError struct{ error }

// Fail prints what went wrong in one line, and returns the exit status. If the log of a service is JSON the line is JSON
// too, because a program that reads the log would lose another line.
func (c *commands) Fail(s cli.Streams, err error) int {
	status, line := statusOf(err), cli.Line(err)
	if c.Serve.LogFormat == "json" {
		slog.New(slog.NewJSONHandler(s.Err, nil)).Error("the program ends", "error", line, "exit_status", status)
	} else {
		_, _ = fmt.Fprintln(s.Err, "inventory:", line) // there is nowhere else to report it, and the status shows it too
	}
	return status
}

func statusOf(err error) int {
	for _, found := range []error{errAuditFailed, errSaleFailed, errDiffers, app.ErrAuditsDiffer} {
		if errors.Is(err, found) {
			return statusFound
		}
	}
	_, unparsed := errors.AsType[*kong.ParseError](err)
	_, unusable := errors.AsType[app.ConfigError](err)
	_, unclear := errors.AsType[usageError](err)
	_, unread := errors.AsType[stock.BadCursor](err)
	if unparsed || unusable || unclear || unread {
		return statusUsage
	}
	return statusFailed
}

type completionCommand struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

// Help shows how to use it.
func (completionCommand) Help() string {
	return `Examples:

    source <(inventory completion bash)
    inventory completion zsh > "${fpath[1]}/_inventory"
    inventory completion fish > ~/.config/fish/completions/inventory.fish`
}

// Run prints the script.
func (c *completionCommand) Run(parsed *kong.Context, s cli.Streams) error {
	return cli.WriteCompletion(s.Out, c.Shell, parsed.Model.Node)
}
