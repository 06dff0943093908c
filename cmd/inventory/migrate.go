package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"inventory/internal/app"
	"inventory/internal/cli"
	"inventory/internal/progress"
	"inventory/migrations"
)

type migrateCommand struct {
	Up         migrateUp         `cmd:"" help:"Apply every migration that the database lacks. serve and demo do this themselves."`
	Down       migrateDown       `cmd:"" help:"Undo the last migration, once you have said yes to what it loses."`
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
	migrateUp   struct{ schemaFlags }
	migrateDown struct {
		schemaFlags
		Yes bool `help:"Do not ask." env:"-"`
	}
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
	shown := &migrationShown{to: s}
	steps, err := app.MigrateUp(ctx, c.url(), shown.notice)
	shown.finish()
	printSteps(s, steps)
	return err
}

// Run undoes the last step, if the user says so.
func (c *migrateDown) Run(ctx context.Context, s cli.Streams) error {
	status, err := app.MigrationStatus(ctx, c.url())
	if err != nil {
		return err
	}
	if last := status.Last(); last != nil && !status.Newer() && !c.Yes {
		if err := ask(s, fmt.Sprintf("%04d %s will be undone. It loses %s.", last.Version, last.Name, last.Loses)); err != nil {
			return err
		}
	}
	shown := &migrationShown{to: s}
	steps, err := app.MigrateDown(ctx, c.url(), shown.notice)
	shown.finish()
	printSteps(s, steps)
	return err
}

// ask asks the user whether to go on.
func ask(s cli.Streams, what string) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return usageError{fmt.Errorf("%s Nobody can be asked here: say --yes", what)}
	}
	_, _ = fmt.Fprintf(s.Err, "%s Go on? [y/N] ", what)
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if !strings.EqualFold(strings.TrimSpace(answer), "y") {
		return errors.New("nothing was undone")
	}
	return nil
}

// migrationShown shows what a migration does that takes long.
type migrationShown struct {
	to    cli.Streams
	told  time.Time // when it last said that it waits
	step  uint      // whose rows are shown
	shown *progress.Progress
}

// waitsAgain is how often it says that it waits.
const waitsAgain = 5 * time.Second

func (m *migrationShown) notice(n migrations.Notice) {
	switch {
	case n.Waits != "" && time.Since(m.told) >= waitsAgain:
		m.told = time.Now()
		_, _ = fmt.Fprintf(m.to.Err, "%04d %s waits: %s\n", n.Step.Version, n.Step.Name, n.Waits)
	case n.Rows > 0 && n.Total > 0:
		if m.step != n.Step.Version {
			m.finish()
			m.step, m.shown = n.Step.Version, progress.New(m.to.Err, fmt.Sprintf("%04d %s, rows", n.Step.Version, n.Step.Name), int(n.Total))
		}
		m.shown.AddMany(int(n.Rows))
	}
}

func (m *migrationShown) finish() {
	if m.shown != nil {
		m.shown.Finish()
	}
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
