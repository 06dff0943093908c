package postgres

import "github.com/jackc/pgx/v5"

// Limits that PostgreSQL itself enforces, because none of our processes may be left to do so. A process that hangs in the
// middle of a transaction holds the rows of a SKU, and so stops its sale in all processes. A statement whose caller has gone
// keeps waiting for its row. The URL may set others.
const (
	idleInTransaction = "5s"  // as long as the lease of a lock
	rowWait           = "10s" // as long as a batch may take
	clientGone        = "1s"  // it checks this often, during a statement, whether its client is there
	clientSilent      = "5s"  // after this long it probes the client's host, which has 5s to answer, and to acknowledge what was sent
)

// keepPlans makes each connection keep the plans of its statements. Planning a batch costs as much as writing twenty rows,
// and planning some transactions costs more than carrying them out. A plan that is kept fits the sizes that the tables had
// when it was made. For a sale that begins with empty tables, that plan would read them from end to end, so sequential
// scans are off. Every lookup of every statement has an index that fits it, whatever the sizes.
func keepPlans(config *pgx.ConnConfig) {
	config.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	config.RuntimeParams["enable_seqscan"] = "off"
}

// beginSnapshot begins a transaction that reads one state of the database, with sequential scans if they help.
const beginSnapshot = `
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;
SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = on`

// limitSessions sets the limits that the URL does not set.
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
