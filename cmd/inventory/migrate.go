package main

import (
	"cmp"
	"context"
	"fmt"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/progress"
	"inventory/migrations"
)

type migrateCommand struct {
	Up         migrateUp         `cmd:"" help:"Apply every migration that the database lacks. serve and demo do this themselves."`
	Down       migrateDown       `cmd:"" help:"Undo the last migration. Data that the older schema cannot hold is lost, but no stock and no sale."`
	Distribute migrateDistribute `cmd:"" help:"Distribute the tables over the nodes of Citus, after up. It skips what is done already; run it again after a node was added. Stop the services first."`
	Copy       migrateCopy       `cmd:"" help:"Copy all rows of a stopped service into an empty database of another kind: from a SQLite file to PostgreSQL, or back. Exit status 3 if the audits of both differ."`
	Status     migrateStatus     `cmd:"" help:"List the migrations and whether the database has them. It changes nothing, and works while a service runs."`
}

// Help shows examples.
func (migrateCommand) Help() string {
	return `Examples:

    inventory migrate status
    inventory migrate up --database-url postgres://…
    inventory migrate distribute --database-url citus://COORDINATOR/inventory --dry-run
    inventory migrate copy --from sqlite:inventory.db --to postgres://… --dry-run`
}

type (
	migrateUp     struct{ schemaFlags }
	migrateDown   struct{ schemaFlags }
	migrateStatus struct{ schemaFlags }

	schemaFlags struct {
		databaseFlag
		directFlag
	}

	migrateDistribute struct {
		databaseFlag
		Shards int  `default:"8" help:"Number of shards, a few for each node. Writes of SKUs in one shard cost less together. Shards can be split later."`
		DryRun bool `help:"Print the steps, and change nothing."`
	}
)

type migrateCopy struct {
	From   string `help:"Database to copy, of which nothing is changed: sqlite:FILE, postgres://… or citus://…" placeholder:"URL" required:""`
	To     string `help:"Database to copy to, without rows: postgres://… or citus://…, or sqlite:FILE if the other is none." placeholder:"URL" required:""`
	DryRun bool   `help:"Only count the rows." env:"-"`
}

func (f schemaFlags) url() string { return cmp.Or(f.DirectURL, f.DatabaseURL) }

// Run applies the pending steps.
func (c *migrateUp) Run(ctx context.Context, s cli.Streams) error {
	steps, err := app.MigrateUp(ctx, c.url())
	printSteps(s, steps)
	return err
}

// Run undoes the last step.
func (c *migrateDown) Run(ctx context.Context, s cli.Streams) error {
	steps, err := app.MigrateDown(ctx, c.url())
	printSteps(s, steps)
	return err
}

// Run distributes the tables.
func (c *migrateDistribute) Run(ctx context.Context, s cli.Streams) error {
	done, err := app.Distribute(ctx, c.DatabaseURL, c.Shards, c.DryRun)
	for _, step := range done {
		state := "to do"
		if step.Done {
			state = "done"
		}
		s.Printf("%-5s  %s\n", state, step.What)
	}
	return err
}

// Run lists the steps.
func (c *migrateStatus) Run(ctx context.Context, s cli.Streams) error {
	status, err := app.MigrationStatus(ctx, c.url())
	if err != nil {
		return err
	}
	printSteps(s, status.Steps)
	if status.Newer() {
		s.Printf("%04d  applied by a newer program\n", status.Version)
	}
	if status.Dirty {
		s.Printf("%04d  begun and not finished: inventory migrate up of the program that began it finishes it\n", status.Version)
	}
	return nil
}

// Run copies, and prints the tables.
func (c *migrateCopy) Run(ctx context.Context, s cli.Streams) error {
	var shown *progress.Progress
	copied, err := app.Copy(ctx, app.Copying{From: c.From, To: c.To, DryRun: c.DryRun, Progress: func(rows int) func() {
		shown = progress.New(s.Err, "rows copied", rows)
		return shown.Add
	}})
	if shown != nil {
		shown.Finish()
	}
	if err != nil {
		return err
	}
	rows := 0
	for _, table := range copied.Tables {
		rows += table.Rows
		s.Printf("%-15s  %9d rows\n", table.Name, table.Rows)
	}
	if c.DryRun {
		s.Printf("to copy: %d rows from %s to %s\n", rows, copied.From, copied.To)
		return nil
	}
	s.Printf("copied: %d rows from %s to %s\n", rows, copied.From, copied.To)
	if !copied.Audit.OK() {
		return fmt.Errorf("the audits of both databases are the same, and %w", errAuditFailed)
	}
	s.Printf("the audits of both databases are the same: %s, every unit adds up\n", cli.Count(len(copied.Audit.SKUs), "SKU"))
	return nil
}

func printSteps(s cli.Streams, steps []migrations.Step) {
	for _, step := range steps {
		state := "pending"
		if step.Applied {
			state = "applied"
		}
		s.Printf("%04d  %s  %s\n", step.Version, state, step.Name)
	}
}
