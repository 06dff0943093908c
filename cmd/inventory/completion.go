package main

import (
	"github.com/alecthomas/kong"

	"inventory/internal/cli"
)

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
