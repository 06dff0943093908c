// Package years measures what old data costs. It fills a database with the rows of a shop after years, and another with hardly any, and
// carries out the same reads and writes on both: a time each, and the pages of tables and indexes that each has touched.
//
// The pages are those that PostgreSQL counts for the tables of the service. A connection reports its counts when it ends, so each
// operation has one of its own. Nothing else uses the database, and it is not vacuumed meanwhile.
package years

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/migrations"
)

// Config says where to measure, and on how much.
type Config struct {
	servers.URLs
	Orders   int64 // in the full database
	Few      int64 // in the other one
	Times    int   // how often each operation is carried out
	Seed     uint64
	Progress func(line string)
}

// Measured is what an operation costs.
type Measured struct {
	Name  string
	Took  time.Duration // the median
	Pages float64       // each time
}

//go:embed fill.sql
var fillSQL embed.FS

// fills are the statements of fill.sql, in order.
func fills() []string {
	return []string{"deductions", "reservations", "skus", "segments", "movements", "ledger", "orders", "lines", "marks", "outbox"}
}

// Run measures.
func Run(ctx context.Context, c Config) (d report.Document, err error) {
	d.Scenario, d.Seed = "years", c.Seed
	err = d.Run(ctx, "years", func(ctx context.Context) (err error) {
		s, err := servers.Prepare(ctx, c.URLs, servers.Needs{Durable: true, Generator: "this process, one request at a time"})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		d.Environment, d.Warnings = s.About, s.Warnings
		few, _, err := c.measure(ctx, s, c.Few)
		if err != nil {
			return err
		}
		many, url, err := c.measure(ctx, s, c.Orders)
		if err != nil {
			return err
		}
		c.tell(&d, few, many)
		wal, err := c.writeAheadLog(ctx, url)
		d.Sections = append(d.Sections, report.Section{Name: "Write-ahead log", Table: wal, Notes: []string{walNote}})
		return err
	})
	return d, err
}

// measure fills a new database, and carries out all operations there.
func (c Config) measure(ctx context.Context, s *servers.Servers, orders int64) (all []Measured, url string, err error) {
	url, err = servers.CreateDatabase(ctx, s.DatabaseURL, "years_", s.PostmasterPID == 0, &s.Closers)
	if err != nil {
		return nil, "", err
	}
	m, err := migrations.OpenPostgres(url, postgres.Settle)
	if err != nil {
		return nil, "", err
	}
	if err := errors.Join(m.Up(ctx), m.Close()); err != nil {
		return nil, "", err
	}
	if err := c.fill(ctx, url, orders); err != nil {
		return nil, "", fmt.Errorf("fill a database with %s: %w", report.Count(orders, "order"), err)
	}
	for _, o := range operations() {
		one, err := c.carryOut(ctx, url, o)
		if err != nil {
			return nil, "", fmt.Errorf("%s among %s: %w", o.name, report.Count(orders, "order"), err)
		}
		all = append(all, one)
	}
	return all, url, nil
}

// fill fills a database. Each statement waits for the disk: VACUUM does not mark a page as visible to all before its rows are there.
func (c Config) fill(ctx context.Context, url string, orders int64) error {
	statements := tables.ReadSQL(fillSQL)
	return servers.Connected(ctx, url, func(conn *pgx.Conn) error {
		for _, table := range migrations.Tables() {
			if _, err := conn.Exec(ctx, `ALTER TABLE `+table+` SET (autovacuum_enabled = false)`); err != nil {
				return err
			}
		}
		for _, name := range fills() {
			began := time.Now()
			tag, err := conn.Exec(ctx, statements.Of(name).Text, orders, int64(c.Seed)) //nolint:gosec // seeds are short
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			c.Progress(fmt.Sprintf("filled: %s of %s, %.1f s", report.Count(tag.RowsAffected(), "row"), name, time.Since(began).Seconds()))
		}
		_, err := conn.Exec(ctx, `VACUUM ANALYZE`)
		return err
	})
}

// pagesTouched counts the pages of all tables and their indexes.
const pagesTouched = `SELECT coalesce(sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0)
	+ coalesce(idx_blks_hit, 0)), 0)::bigint FROM pg_statio_user_tables`

// carryOut carries out an operation as often as the configuration says, over one connection.
func (c Config) carryOut(ctx context.Context, url string, o operation) (m Measured, err error) {
	m.Name = o.name
	var before, after int64
	var times []time.Duration
	count := func(pages *int64) error {
		return servers.Connected(ctx, url, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, pagesTouched).Scan(pages) })
	}
	if err := count(&before); err != nil {
		return m, err
	}
	store, err := postgres.Open(ctx, url, 1)
	if err != nil {
		return m, err
	}
	for n := range c.Times {
		began := time.Now()
		if err := o.do(ctx, store, fmt.Sprintf("%s %d", strings.ReplaceAll(o.name, " ", "-"), n)); err != nil {
			return m, errors.Join(err, store.Close())
		}
		times = append(times, time.Since(began))
	}
	if err := errors.Join(store.Close(), ended(ctx, url), count(&after)); err != nil {
		return m, err
	}
	slices.Sort(times)
	m.Took, m.Pages = times[len(times)/2], float64(after-before)/float64(c.Times)
	return m, nil
}

// othersConnected counts the other connections to the database.
const othersConnected = `SELECT count(*) FROM pg_stat_activity
	WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`

// ended waits until the server has ended all connections to a database: it counts their pages then.
func ended(ctx context.Context, url string) error {
	return servers.Connected(ctx, url, func(conn *pgx.Conn) error {
		for {
			var others int
			err := conn.QueryRow(ctx, othersConnected).Scan(&others)
			if err != nil || others == 0 {
				return err
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
}

// tell writes the table.
func (c Config) tell(d *report.Document, few, many []Measured) {
	t := &report.Table{Columns: []string{
		"operation", "ms, " + report.Count(c.Few, "order"), "ms, " + report.Count(c.Orders, "order"), "ratio", "pages, few", "pages, many",
	}}
	worst := 0
	for i, one := range many {
		a, b := report.Milliseconds(few[i].Took), report.Milliseconds(one.Took)
		t.Add(one.Name, a, b, report.Ratio(b, a), few[i].Pages, one.Pages)
		if one.Pages/few[i].Pages > many[worst].Pages/few[worst].Pages {
			worst = i
		}
	}
	d.Summary = []string{fmt.Sprintf("Of %d reads and writes, %s touches the most pages more: %s where it touched %s.",
		len(many), many[worst].Name, report.Number(many[worst].Pages), report.Number(few[worst].Pages))}
	d.Sections = []report.Section{{Name: "Reads and writes", Table: t}}
}
