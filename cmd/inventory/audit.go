package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"inventory/internal/api"
	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/progress"
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
	var shown *progress.Progress
	audit, err := auditOf(ctx, c.DatabaseURL, "", func(done, of int) {
		if shown == nil {
			shown = progress.New(s.Err, "SKUs audited", of)
		}
		shown.To(done)
	})
	if shown != nil {
		shown.Finish()
	}
	if err != nil {
		return err
	}
	report := api.ReportAudit(audit)
	if c.JSON {
		err = json.NewEncoder(s.Out).Encode(report)
	} else {
		printAudit(s, report)
	}
	if err == nil && !report.OK {
		err = errAuditFailed
	}
	return err
}

// auditOf audits a SKU of a database, "" all of them.
func auditOf(ctx context.Context, databaseURL, sku string, audited func(done, of int)) (audit stock.Audit, err error) {
	store, err := app.OpenForReading(ctx, databaseURL)
	if err != nil {
		return audit, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if audit, err = store.Audit(ctx, sku, audited); err != nil {
		err = fmt.Errorf("audit: %w", err)
	}
	return audit, err
}

// printAudit prints a report for people.
func printAudit(s cli.Streams, r api.AuditReport) {
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(columns ...any) {
		_, _ = fmt.Fprintf(table, strings.Repeat("%v\t", len(columns))+"\n", columns...) // [cli.Run] tells errors of s.Out
	}
	line("SKU", "initial", "restocked", "adjusted", "written off", "available", "reserved", "committed", "difference")
	for _, b := range r.SKUs {
		line(b.SKU, b.Initial, b.Restocked, b.Adjusted, b.WrittenOff, b.Available, b.Reserved, b.Committed, b.Difference)
	}
	_ = table.Flush() // the same
	for _, violation := range r.Violations {
		s.Printf("%s\n", violation)
	}
	verdict := "every unit adds up"
	if !r.OK {
		verdict = "NOT every unit adds up"
	}
	s.Printf("%s: %s\n", cli.Count(len(r.SKUs), "SKU"), verdict)
}
