package target

import (
	"context"
	"strings"

	sqlite "modernc.org/sqlite/lib"

	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Environment is what figures depend on beside what is measured, as far as it can be known: running services do not tell
// where their locks are.
func (t *Target) Environment(ctx context.Context) (report.Environment, error) {
	e := servers.Machine(ctx)
	e.Target = t.Name
	if strings.HasPrefix(t.databaseURL, "sqlite:") {
		e.SQLite = sqlite.SQLITE_VERSION
	} else if err := servers.AskPostgreSQL(ctx, t.databaseURL, &e); err != nil {
		return e, err
	}
	switch {
	case t.RedisURL != "":
		return e, servers.AskRedis(ctx, t.RedisURL, &e)
	case t.Started():
		e.Redis = "embedded"
	}
	return e, nil
}
