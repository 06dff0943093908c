package history

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"inventory/internal/stock/sqlite"
)

// Rows are what the database holds in the end.
type Rows struct {
	At         time.Time // when they were read
	Deductions []Deduction
	Amendments []Amendment
	Movements  []Movement
	SKUs       []SKU
	Audit      []string // what the service's own audit finds
}

// Deduction is a row of what was taken.
type Deduction struct {
	SKU, ID, Buyer string
	Asked          int64 // units; Quantity is fewer after a return
	Quantity       int64
	State          string
	Created        time.Time
	Expires        time.Time // of a reservation; zero: it was none
	Committed      time.Time // of a reservation that was committed
	Ended          time.Time // when it was cancelled or returned
}

// retaken reports whether a reservation had expired when it was committed.
func (d Deduction) retaken() bool {
	return !d.Expires.IsZero() && !d.Committed.IsZero() && !d.Committed.Before(d.Expires)
}

// held is how many units a deduction holds.
func (d Deduction) held() int64 {
	if d.State == reserved || d.State == committed {
		return d.Quantity
	}
	return 0
}

// Amendment is a row of a change of a deduction that stays.
type Amendment struct {
	SKU, ID, Ref string
	Kind         string
	Returned     int64 // units that were given back
	Extended     time.Duration
	Created      time.Time
}

// The kinds of amendments that give units back. The last one is also a kind of movement.
const (
	gaveUp     = "cancel"
	gaveBack   = "return"
	writtenOff = "write_off"
)

// Movement is a row of the ledger.
type Movement struct {
	SKU, Ref, Kind string
	Quantity       int64 // units, or segments
}

// SKU is the stock of one SKU.
type SKU struct {
	Name       string
	Initial    int64
	Available  int64
	Merges     int64 // deductions that took from several segments
	FencesFell int64 // how often a row of its stock was written under an older token
}

// Of is the stock of one SKU, and how many units the rows of its orders hold.
func (r Rows) Of(sku string) (s SKU, units int64) {
	for _, d := range r.Deductions {
		if d.SKU == sku {
			units += d.held()
		}
	}
	if i := slices.IndexFunc(r.SKUs, func(s SKU) bool { return s.Name == sku }); i >= 0 {
		s = r.SKUs[i]
	}
	return s, units
}

// The queries are the same for both stores.
var (
	//go:embed deductions.sql
	deductionsQuery string
	//go:embed amendments.sql
	amendmentsQuery string
	//go:embed movements.sql
	movementsQuery string
	//go:embed skus.sql
	skusQuery string
)

// ReadRows reads the rows of all SKUs whose names begin with a prefix, and the result of the service's own audit.
func ReadRows(ctx context.Context, databaseURL, prefix string) (rows Rows, err error) {
	if err := rows.read(ctx, databaseURL, prefix); err != nil {
		return Rows{}, fmt.Errorf("read the rows: %w", err)
	}
	audit, err := AuditRows(ctx, databaseURL)
	if err != nil {
		return Rows{}, fmt.Errorf("audit the rows: %w", err)
	}
	for _, b := range audit.SKUs {
		if strings.HasPrefix(b.SKU, prefix) {
			rows.Audit = append(rows.Audit, b.Violations...)
		}
	}
	return rows, nil
}

// read reads in one transaction, which sees one instant.
func (r *Rows) read(ctx context.Context, databaseURL, prefix string) error {
	driver, name := "pgx", databaseURL
	if file, is := strings.CutPrefix(databaseURL, "sqlite:"); is {
		driver, name = "sqlite", sqlite.ReadOnlyDSN(strings.TrimPrefix(file, "//"))
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return errors.New("the database URL cannot be used") // err may quote a password
	}
	defer func() { _ = db.Close() }() // it was only read
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	r.At = time.Now()
	q := query{ctx, tx, prefix}
	return errors.Join(
		collect(q, deductionsQuery, &r.Deductions, func(d *Deduction) []any {
			return []any{&d.SKU, &d.ID, &d.Buyer, &d.Asked, &d.Quantity, &d.State, (*instant)(&d.Created), (*instant)(&d.Expires), (*instant)(&d.Committed), (*instant)(&d.Ended)}
		}),
		collect(q, amendmentsQuery, &r.Amendments, func(a *Amendment) []any {
			return []any{&a.SKU, &a.ID, &a.Ref, &a.Kind, &a.Returned, (*int64)(&a.Extended), (*instant)(&a.Created)}
		}),
		collect(q, movementsQuery, &r.Movements, func(m *Movement) []any { return []any{&m.SKU, &m.Ref, &m.Kind, &m.Quantity} }),
		collect(q, skusQuery, &r.SKUs, func(s *SKU) []any { return []any{&s.Name, &s.Initial, &s.Available, &s.Merges} }))
}

// query is what the questions to a database have in common.
type query struct {
	ctx    context.Context
	tx     *sql.Tx
	prefix string // of the names of SKUs
}

// collect appends the rows of a query. columns are where those of a row go.
func collect[T any](q query, text string, all *[]T, columns func(row *T) []any) error {
	rows, err := q.tx.QueryContext(q.ctx, text, q.prefix, behind(q.prefix))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := rows.Scan(columns(&row)...); err != nil {
			return err
		}
		*all = append(*all, row)
	}
	return rows.Err()
}

// instant reads a time of PostgreSQL, and of SQLite in microseconds since 1970.
type instant time.Time

// Scan implements [sql.Scanner].
func (t *instant) Scan(value any) error {
	switch value := value.(type) {
	case nil:
	case time.Time:
		*t = instant(value)
	case int64:
		*t = instant(time.UnixMicro(value))
	default:
		return fmt.Errorf("an instant of %T", value)
	}
	return nil
}

// behind is the first text after all that begin with a prefix, which ends in no 0xff.
func behind(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}
