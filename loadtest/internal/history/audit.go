package history

import (
	"context"

	"inventory/loadtest/internal/books"
)

// Audit reads the rows of the SKUs whose names begin with a prefix, and holds what callers saw against them. It outlives the
// end of ctx for a while, for what was sold until then is audited too. Rows that cannot be read are a finding.
func Audit(ctx context.Context, databaseURL, prefix string, operations []Operation, promise Promise) (Rows, Findings) {
	auditing, cancel := books.Patience(ctx)
	defer cancel()
	rows, err := ReadRows(auditing, databaseURL, prefix)
	if err != nil {
		return Rows{}, Findings{Violations: []Violation{{Name: "audit", What: err.Error()}}}
	}
	return rows, Check(operations, rows, promise)
}
