package main

import (
	"context"
	"fmt"

	"inventory/internal/app"
	"inventory/internal/cli"
)

type forgetCommand struct {
	databaseFlag
	Buyer     string `help:"Id of the buyer." placeholder:"ID" required:"" env:"-"`
	ForgetKey string `help:"File with a secret of 16 bytes or more, the same each time, which the services have as --forget-key." placeholder:"FILE" required:""`
}

// Help shows examples.
func (forgetCommand) Help() string {
	return `A hash that only the secret can make takes the place of the buyer's id, in all orders, counts
and the outbox. So limits go on. It works while services sell: give them --forget-key first.
Until it ends they ask for requests of this buyer to be sent again. It cannot be undone.

Examples:

    head -c 32 /dev/urandom | base64 > forget-key
    inventory serve --forget-key forget-key
    inventory forget --buyer ann --forget-key forget-key`
}

// Run forgets the buyer.
func (c *forgetCommand) Run(ctx context.Context, s cli.Streams) error {
	err := app.Forget(ctx, c.DatabaseURL, c.ForgetKey, c.Buyer, func(steps int) {
		if steps%1000 == 0 {
			_, _ = fmt.Fprintf(s.Err, "%d steps\n", steps) // there is nowhere else to tell it
		}
	})
	if err == nil {
		s.Printf("%s is forgotten\n", c.Buyer)
	}
	return err
}
