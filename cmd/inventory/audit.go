package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"inventory/internal/api"
	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/stock"
)

type auditCommand struct {
	databaseFlag
	JSON bool `help:"Print one JSON object."`
}

// Help shows examples.
func (auditCommand) Help() string {
	return `Examples:

    inventory audit
    inventory audit --json | jq '.skus[] | select(.difference != 0)'`
}

var errAuditFailed = errors.New("the audit found differences")

// Run audits and prints.
func (c *auditCommand) Run(ctx context.Context, s cli.Streams) error {
	audit, err := auditOf(ctx, c.DatabaseURL, "")
	if err != nil {
		return err
	}
	report := api.ReportAudit(audit)
	if c.JSON {
		err = json.NewEncoder(s.Out).Encode(report)
	} else {
		err = printAudit(s.Out, report)
	}
	if err == nil && !report.OK {
		err = errAuditFailed
	}
	return err
}

// auditOf audits a SKU of a database, "" all of them.
func auditOf(ctx context.Context, databaseURL, sku string) (audit stock.Audit, err error) {
	store, err := app.OpenForReading(ctx, databaseURL)
	if err != nil {
		return audit, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if audit, err = store.Audit(ctx, sku); err != nil {
		err = fmt.Errorf("audit: %w", err)
	}
	return audit, err
}

// printAudit prints a report for people.
func printAudit(out io.Writer, r api.AuditReport) error {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(columns ...any) error {
		_, err := fmt.Fprintf(table, strings.Repeat("%v\t", len(columns))+"\n", columns...)
		return err
	}
	err := line("SKU", "initial", "restocked", "adjusted", "written off", "available", "reserved", "committed", "difference")
	for _, s := range r.SKUs {
		err = errors.Join(err, line(s.SKU, s.Initial, s.Restocked, s.Adjusted, s.WrittenOff, s.Available, s.Reserved, s.Committed, s.Difference))
	}
	if err = errors.Join(err, table.Flush()); err != nil {
		return err
	}
	for _, violation := range r.Violations {
		text.WriteString(violation + "\n")
	}
	verdict := "every unit adds up"
	if !r.OK {
		verdict = "NOT every unit adds up"
	}
	fmt.Fprintf(&text, "%s: %s\n", cli.Count(len(r.SKUs), "SKU"), verdict)
	_, err = text.WriteTo(out)
	return err
}
