package postgres

import "github.com/jackc/pgx/v5"

// What PostgreSQL itself ends, because nobody here may be left to do so. A process that stands still in mid-transaction
// holds the rows of a SKU, and everybody else's sale of it with them; a statement whose caller has gone waits on for a
// row that nobody wants any more. The URL may say otherwise.
const (
	idleInTransaction = "5s"  // as long as the lease of a lock
	rowWait           = "10s" // as long as a batch may take
)

// limitSessions sets what a URL leaves open.
func limitSessions(config *pgx.ConnConfig) {
	for name, value := range map[string]string{
		"idle_in_transaction_session_timeout": idleInTransaction,
		"lock_timeout":                        rowWait,
	} {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
}
