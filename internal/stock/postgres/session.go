package postgres

import "github.com/jackc/pgx/v5"

// What PostgreSQL itself ends, because nobody here may be left to do so. A process that stands still in mid-transaction
// holds the rows of a SKU, and everybody else's sale of it with them; a statement whose caller has gone waits on for a
// row that nobody wants any more. The URL may say otherwise.
const (
	idleInTransaction = "5s"  // as long as the lease of a lock
	rowWait           = "10s" // as long as a batch may take
	clientGone        = "1s"  // so often it looks, in mid-statement, whether its client is there
	clientSilent      = "5s"  // then it asks a client's host, which has as long to answer, and to acknowledge what was sent
)

// keepPlans has each connection keep the plans of its statements: to plan a batch anew costs as much as to write twenty
// rows, and to plan some transactions more than to carry them out. A plan that is kept is one for the size that tables had
// when it was made. In a sale that begins with empty tables that would be to read them from end to end, so this is
// forbidden; every statement has one index that fits each of its look-ups, whatever the sizes.
func keepPlans(config *pgx.ConnConfig) {
	config.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	config.RuntimeParams["enable_seqscan"] = "off"
}

// beginSnapshot begins a transaction that reads one state of the database, from end to end if need be.
const beginSnapshot = `
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;
SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = on`

// limitSessions sets what a URL leaves open.
func limitSessions(config *pgx.ConnConfig) {
	for name, value := range map[string]string{
		"idle_in_transaction_session_timeout": idleInTransaction,
		"lock_timeout":                        rowWait,
		"client_connection_check_interval":    clientGone,
		"tcp_keepalives_idle":                 clientSilent,
		"tcp_keepalives_interval":             "1s",
		"tcp_keepalives_count":                "5",
		"tcp_user_timeout":                    clientSilent,
	} {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
}
