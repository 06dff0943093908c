package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/stock"
)

type ordersCommand struct {
	On  ordersOn  `cmd:"" help:"Build the indexes for GET /v1/orders and export. It works while services sell; each order then costs more."`
	Off ordersOff `cmd:"" help:"Remove the indexes."`
}

type (
	ordersOn  struct{ databaseFlag }
	ordersOff struct{ databaseFlag }
)

// Run builds the indexes.
func (c *ordersOn) Run(ctx context.Context, s cli.Streams) error {
	err := app.ListOrders(ctx, c.DatabaseURL, true)
	if err == nil {
		s.Printf("orders are listed\n")
	}
	return err
}

// Run removes the indexes.
func (c *ordersOff) Run(ctx context.Context, s cli.Streams) error {
	err := app.ListOrders(ctx, c.DatabaseURL, false)
	if err == nil {
		s.Printf("orders are not listed\n")
	}
	return err
}

type exportCommand struct {
	databaseFlag
	Since  instant `help:"Orders that were created at this time or later, such as 2026-01-31T00:00:00Z. Default: from the first one." placeholder:"TIME" env:"-"`
	Until  instant `help:"Orders that were created before this time. Default: to the last one." placeholder:"TIME" env:"-"`
	Buyer  string  `help:"Orders of this buyer alone." placeholder:"ID" env:"-"`
	Status string  `help:"Lines with this status alone." placeholder:"STATUS" env:"-"`
	Format string  `help:"csv, or json for one JSON object a line." enum:"csv,json" default:"csv"`
}

// Help shows examples.
func (exportCommand) Help() string {
	return `A line for each SKU of each order. It needs the indexes of inventory orders on.

Examples:

    inventory export --since 2026-01-31T00:00:00Z --until 2026-02-01T00:00:00Z > sales.csv
    inventory export --buyer ann --format json`
}

// exportedLine is a line of an order, in the order of its columns.
type exportedLine struct {
	CreatedAt   time.Time `json:"created_at"`
	SKU         string    `json:"sku"`
	OrderID     string    `json:"order_id"`
	Namespace   string    `json:"namespace,omitempty"`
	BuyerID     string    `json:"buyer_id,omitempty"`
	Quantity    int64     `json:"quantity"`
	Status      string    `json:"status"`
	CommittedAt time.Time `json:"committed_at,omitzero"`
}

// Run prints the orders.
func (c *exportCommand) Run(ctx context.Context, s cli.Streams) error {
	query := stock.OrderQuery{BuyerID: c.Buyer, Status: stock.DeductionStatus(c.Status), Since: c.Since.Time, Until: c.Until.Time}
	if c.Format == "json" {
		lines := json.NewEncoder(s.Out)
		return app.Export(ctx, c.DatabaseURL, query, func(l stock.Deduction) error { return lines.Encode(exported(l)) })
	}
	table := csv.NewWriter(s.Out)
	if err := table.Write([]string{"created_at", "sku", "order_id", "namespace", "buyer_id", "quantity", "status", "committed_at"}); err != nil {
		return err
	}
	err := app.Export(ctx, c.DatabaseURL, query, func(l stock.Deduction) error {
		e, committed := exported(l), ""
		if !e.CommittedAt.IsZero() {
			committed = e.CommittedAt.Format(time.RFC3339Nano)
		}
		return table.Write([]string{
			e.CreatedAt.Format(time.RFC3339Nano), e.SKU, cell(e.OrderID), cell(e.Namespace), cell(e.BuyerID), strconv.FormatInt(e.Quantity, 10), e.Status, committed,
		})
	})
	table.Flush()
	if err == nil {
		err = table.Error()
	}
	return err
}

func exported(l stock.Deduction) exportedLine {
	namespace, orderID := stock.SplitOrderKey(l.OrderID)
	return exportedLine{
		CreatedAt: l.CreatedAt.UTC(), SKU: l.SKU, OrderID: orderID, Namespace: namespace, BuyerID: l.BuyerID, Quantity: l.Quantity,
		Status: string(l.Status), CommittedAt: l.CommittedAt.UTC(),
	}
}

// cell returns a text that a spreadsheet does not take for a formula: callers choose these texts.
func cell(text string) string {
	if text != "" && (text[0] == '=' || text[0] == '+' || text[0] == '-' || text[0] == '@') {
		return "'" + text
	}
	return text
}
