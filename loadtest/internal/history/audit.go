package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock"
)

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
	return store.Audit(ctx, "")
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
