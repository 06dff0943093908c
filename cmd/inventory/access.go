package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/cli"
)

// reload makes a service read its keys and certificates again.
func reload(ctx context.Context, a *app.App, log *slog.Logger) {
	if err := a.Reload(); err != nil {
		log.ErrorContext(ctx, "keys or certificates stay as they were", "error", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	log.InfoContext(ctx, "keys and certificates were read again")
}

type keyCommand struct {
	New keyNewCommand `cmd:"" help:"Make an API key, and print it, only now, with its line for the file of keys."`
}

// Help shows examples.
func (keyNewCommand) Help() string {
	return `Examples:

    inventory key new --name shop --scope buyer --file api-keys
    inventory key new --name ops --scope admin`
}

type keyNewCommand struct {
	Name  string       `help:"Name of the key's owner, for people: 1 to 64 of A-Z a-z 0-9 . _ -" required:"" placeholder:"NAME"`
	Scope access.Scope `help:"Rights of the key: buyer, to buy for any buyer; or admin, for everything." enum:"buyer,admin" required:""`
	File  string       `help:"File of API keys to add the line to; then only the key is printed. Default: print both." placeholder:"FILE"`
}

// Run makes a key.
func (c *keyNewCommand) Run(s cli.Streams) error {
	key, line, err := access.NewKey(c.Name, c.Scope)
	if err != nil {
		return usageError{fmt.Errorf("--name: %w", err)}
	}
	if c.File == "" {
		s.Printf("%s\n%s\n", key, line)
		return nil
	}
	if err := access.AddKey(c.File, line); err != nil {
		return err // the key was not printed, so it is useless
	}
	s.Printf("%s\n", key)
	return nil
}
