package history

import (
	"context"
	"time"
)

const (
	// limit bounds an audit, which may be of many millions of rows.
	limit = 10 * time.Minute
	// lateLimit bounds it once its run is over: somebody has pressed ctrl-C, and waits.
	lateLimit = time.Minute
)

// Audit reads the rows of the SKUs whose names begin with a prefix, and holds what callers saw against them. It outlives the
// end of ctx for a while, for what was sold until then is audited too. Rows that cannot be read are a finding.
func Audit(ctx context.Context, databaseURL, prefix string, operations []Operation, promise Promise) (Rows, Findings) {
	auditing, cancel := patience(ctx, limit, lateLimit)
	defer cancel()
	rows, err := ReadRows(auditing, databaseURL, prefix)
	if err != nil {
		return Rows{}, Findings{Violations: []Violation{{Name: "audit", What: err.Error()}}}
	}
	return rows, Check(operations, rows, promise)
}

// patience is a context that lasts for limit, and for lateLimit once ctx has ended.
func patience(ctx context.Context, limit, lateLimit time.Duration) (audit context.Context, cancel context.CancelFunc) {
	audit, end := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(lateLimit)
		defer timer.Stop()
		select {
		case <-timer.C:
			end()
		case <-audit.Done():
		}
	})
	return audit, func() {
		stop()
		end()
	}
}
