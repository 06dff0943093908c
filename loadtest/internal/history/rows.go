package history

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
)

// Rows are what the database holds in the end.
type Rows struct {
	At         time.Time // when they were read
	Deductions []Deduction
	Amendments []Amendment
	Changes    []OrderChange
	Additions  []Addition
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
	Removed        bool      // it is no line of its order any more
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

// OrderChange is a row of a change of an order of several SKUs.
type OrderChange struct {
	ID, Ref string
	Lines   string // as JSON
	Buyer   string // who got the order; "": nobody else
	Created time.Time
}

// Addition are units that a deduction took later, less those that had gone back when its reservation ended.
type Addition struct {
	SKU, ID string
	Units   int64
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
	//go:embed changes.sql
	changesQuery string
	//go:embed additions.sql
	additionsQuery string
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
			return []any{&d.SKU, &d.ID, &d.Buyer, &d.Asked, &d.Quantity, &d.State, (*instant)(&d.Created), (*instant)(&d.Expires), (*instant)(&d.Committed), (*instant)(&d.Ended), &d.Removed}
		}),
		collect(q, changesQuery, &r.Changes, func(o *OrderChange) []any { return []any{&o.ID, &o.Ref, &o.Lines, &o.Buyer, (*instant)(&o.Created)} }),
		collect(q, additionsQuery, &r.Additions, func(a *Addition) []any { return []any{&a.SKU, &a.ID, &a.Units} }),
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

// Expected counts the orders that the rows of each SKU have to show.
type Expected map[string]claim

// claim is what one SKU should have. Every order is for one unit, so units are orders, reserved or committed.
type claim struct {
	accepted   int64 // by their answers
	unanswered int64 // without an answer
}

// Add adds the answers of a round.
func (e Expected) Add(sku string, accepted, unanswered int64) {
	c := e[sku]
	c.accepted += accepted
	c.unanswered += unanswered
	e[sku] = c
}

// Against lists what does not add up, within the rows and between rows and answers.
func (e Expected) Against(audit stock.Audit) (wrong []string) {
	found := map[string]bool{}
	for _, b := range audit.SKUs {
		found[b.SKU] = true
		if d := b.Difference(); d != 0 {
			wrong = append(wrong, fmt.Sprintf("SKU %s: %d units are missing", b.SKU, d))
		}
		wrong = append(wrong, b.Violations...)
		c := e[b.SKU]
		if orders := b.Reserved + b.Committed; orders < c.accepted || orders > c.accepted+c.unanswered {
			wrong = append(wrong, fmt.Sprintf("SKU %s: %d orders have rows, and buyers know of %d; %d more were not heard",
				b.SKU, orders, c.accepted, c.unanswered))
		}
	}
	for _, sku := range slices.Sorted(maps.Keys(e)) {
		if c := e[sku]; !found[sku] && c.accepted > 0 { // otherwise the run may have ended before its creation
			wrong = append(wrong, fmt.Sprintf("SKU %s: there are no rows", sku))
		}
	}
	return wrong
}

// Auditor recomputes one place where sales have rows.
type Auditor func(ctx context.Context) (stock.Audit, error)

// Audit compares all rows with one another and with the answers, also when ctx has ended, and counts the SKUs. sum makes balances of
// several SKUs; nil: there are none.
func (e Expected) Audit(ctx context.Context, sum func(all stock.Audit) stock.Balance, audits ...Auditor) (skus int, wrong []string) {
	patience, cancel := Patience(ctx)
	defer cancel()
	var all stock.Audit
	for _, audit := range audits {
		one, err := audit(patience)
		if err != nil {
			return 0, []string{fmt.Sprintf("no audit could be made: %v", err)}
		}
		all.SKUs = append(all.SKUs, one.SKUs...)
	}
	if skus = len(all.SKUs); sum != nil {
		all.SKUs = append(all.SKUs, sum(all))
	}
	return skus, e.Against(all)
}

// AuditRows recomputes a database from its rows.
func AuditRows(ctx context.Context, databaseURL string) (audit stock.Audit, err error) {
	store, err := app.OpenForReading(ctx, databaseURL)
	if err != nil {
		return stock.Audit{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.Audit(ctx, "", nil)
}

const (
	// limit bounds an audit, which may be of many millions of rows.
	limit = 10 * time.Minute
	// lateLimit bounds it once its run was stopped: a person waits.
	lateLimit = time.Minute
)

// Patience bounds the audit of a run. It outlives the end of ctx, as what was sold until then is audited, too.
func Patience(ctx context.Context) (audit context.Context, cancel context.CancelFunc) {
	audit, end := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lateLimit, end) })
	return audit, func() {
		stop()
		end()
	}
}

// Audit reads the rows of the SKUs whose names begin with a prefix, and holds operations against them. It outlives the end of ctx
// for a while, as what was sold until then is audited too. Rows that cannot be read are a violation.
func Audit(ctx context.Context, databaseURL, prefix string, operations []Operation, promise Promise) (Rows, Findings) {
	auditing, cancel := Patience(ctx)
	defer cancel()
	rows, err := ReadRows(auditing, databaseURL, prefix)
	if err != nil {
		return Rows{}, Findings{Violations: []Violation{{Name: "audit", What: err.Error()}}}
	}
	return rows, Check(operations, rows, promise)
}
