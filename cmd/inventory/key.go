package main

import (
	"fmt"

	"inventory/internal/access"
	"inventory/internal/cli"
)

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
	Name  string `help:"Name of the key's owner, for people: 1 to 64 of A-Z a-z 0-9 . _ -" required:"" placeholder:"NAME"`
	Scope string `help:"What the key may do: buyer, to buy for any buyer; or admin, everything." enum:"buyer,admin" required:""`
	File  string `help:"File of API keys to add the line to; then only the key is printed. Default: print both." placeholder:"FILE"`
}

// Run makes a key.
func (c *keyNewCommand) Run(s cli.Streams) error {
	scope, err := access.ParseScope(c.Scope)
	if err != nil {
		return err
	}
	key, line, err := access.NewKey(c.Name, scope)
	if err != nil {
		return usageError{fmt.Errorf("--name: %w", err)}
	}
	if c.File == "" {
		_, err = fmt.Fprintf(s.Out, "%s\n%s\n", key, line)
		return err
	}
	if err := access.AddKey(c.File, line); err != nil {
		return err // the key was not printed, so it is useless
	}
	_, err = fmt.Fprintln(s.Out, key)
	return err
}
