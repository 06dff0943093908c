package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/stock"
)

type outboxCommand struct {
	On     outboxOn     `cmd:"" help:"Record the outcomes of orders from now on, of all processes. It works while services sell."`
	Off    outboxOff    `cmd:"" help:"Stop recording. Existing rows stay."`
	Read   outboxRead   `cmd:"" help:"Print the outcomes of orders after a cursor."`
	Status outboxStatus `cmd:"" help:"Print whether it is on, and how many rows it has."`
	Trim   outboxTrim   `cmd:"" help:"Remove what has been read."`
}

// Help shows examples.
func (outboxCommand) Help() string {
	return `Examples:

    inventory outbox on
    inventory outbox read --json --follow --after "$CURSOR"
    inventory outbox trim --before "$CURSOR"`
}

type (
	outboxOn     struct{ databaseFlag }
	outboxOff    struct{ databaseFlag }
	outboxStatus struct {
		databaseFlag
		JSON bool `help:"Print one JSON object."`
	}
	outboxRead struct {
		databaseFlag
		After  string        `help:"Cursor of the last line that was processed. Default: from the beginning." placeholder:"CURSOR" mayBeEmpty:""`
		Limit  int           `help:"Lines at most; 0 is all." placeholder:"LINES" default:"0"`
		Follow bool          `help:"Wait for more, until SIGTERM or SIGINT."`
		Poll   time.Duration `help:"Time between two reads with --follow, such as 500ms." default:"500ms"`
		JSON   bool          `help:"Print one JSON object a line."`
	}
	outboxTrim struct {
		databaseFlag
		Before string `help:"Cursor of the last line to remove." placeholder:"CURSOR" required:""`
	}
)

// Run turns the outbox on.
func (c *outboxOn) Run(ctx context.Context, s cli.Streams) error {
	return turn(ctx, s, c.DatabaseURL, "on", stock.Outbox.On)
}

// Run turns the outbox off.
func (c *outboxOff) Run(ctx context.Context, s cli.Streams) error {
	return turn(ctx, s, c.DatabaseURL, "off", stock.Outbox.Off)
}

func turn(ctx context.Context, s cli.Streams, url, state string, to func(stock.Outbox, context.Context) error) error {
	err := app.WithOutbox(ctx, url, false, func(o stock.Outbox) error { return to(o, ctx) })
	if err == nil {
		s.Printf("the outbox is %s\n", state)
	}
	return err
}

// Validate returns an error if a value is out of range.
func (c *outboxRead) Validate() error {
	if c.Limit < 0 || c.Poll <= 0 {
		return errors.New("--limit must not be below 0, and --poll must be more than 0s")
	}
	return nil
}

// Run prints changes until there are no more, or with Follow until ctx ends.
func (c *outboxRead) Run(ctx context.Context, s cli.Streams) error {
	return app.WithOutbox(ctx, c.DatabaseURL, true, func(o stock.Outbox) error {
		err := c.print(ctx, o, s.Out)
		if c.Follow && ctx.Err() != nil {
			return nil
		}
		return err
	})
}

// outboxPage is how many changes are read at once.
const outboxPage = 1000

func (c *outboxRead) print(ctx context.Context, o stock.Outbox, out io.Writer) error {
	printed, after := 0, c.After
	for {
		page := outboxPage
		if c.Limit > 0 {
			page = min(page, c.Limit-printed)
		}
		changes, err := o.Read(ctx, after, page)
		if err != nil {
			return err
		}
		for _, change := range changes {
			if err := c.printOne(out, change); err != nil {
				return err
			}
			printed, after = printed+1, change.Cursor
		}
		switch {
		case printed == c.Limit && c.Limit > 0:
			return nil
		case len(changes) == page:
			continue // more may follow
		case !c.Follow:
			return nil
		}
		select {
		case <-time.After(c.Poll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *outboxRead) printOne(out io.Writer, change stock.Change) error {
	if c.JSON {
		return json.NewEncoder(out).Encode(change)
	}
	writtenOff := ""
	if change.WrittenOff > 0 {
		writtenOff = fmt.Sprintf("  %d written off", change.WrittenOff)
	}
	_, err := fmt.Fprintf(out, "%s  %s  %-9s  %s  %d x %s  %s%s\n", change.Cursor, change.At.Format(time.RFC3339Nano),
		change.Status, change.OrderID, change.Quantity, change.SKU, change.BuyerID, writtenOff)
	return err
}

// Run prints the state of the outbox.
func (c *outboxStatus) Run(ctx context.Context, s cli.Streams) error {
	var status stock.OutboxStatus
	err := app.WithOutbox(ctx, c.DatabaseURL, true, func(o stock.Outbox) (err error) {
		status, err = o.Status(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.Out).Encode(status)
	}
	state, rows := "off", "no rows"
	if status.On {
		state = "on"
	}
	if status.Rows > 0 {
		rows = fmt.Sprintf("%s%s, from %s to %s", map[bool]string{true: "about "}[status.About], cli.Count(status.Rows, "row"),
			status.Oldest.Format(time.RFC3339), status.Newest.Format(time.RFC3339))
	}
	s.Printf("the outbox is %s: %s\n", state, rows)
	return nil
}

// Run trims the outbox.
func (c *outboxTrim) Run(ctx context.Context, s cli.Streams) error {
	return app.WithOutbox(ctx, c.DatabaseURL, false, func(o stock.Outbox) error {
		n, err := o.Trim(ctx, c.Before)
		if err == nil {
			s.Printf("%d removed\n", n)
		}
		return err
	})
}
