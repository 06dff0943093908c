package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"inventory/migrations"
)

// Distribute distributes a database over the nodes of Citus, in that many shards, and returns the steps. It skips steps
// that are done. A dry run changes nothing.
func Distribute(ctx context.Context, databaseURL string, shards int, dryRun bool) ([]migrations.Distribution, error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return nil, err
	}
	if !d.citus {
		return nil, ConfigError{errors.New("database URL: must be citus://… of the coordinator")}
	}
	if shards < 1 || shards > migrations.MaxShards {
		return nil, ConfigError{fmt.Errorf("shards: must be 1 to %d", migrations.MaxShards)}
	}
	if err := d.upToDate(ctx); err != nil {
		return nil, err
	}
	return migrations.Distribute(ctx, d.postgresURL, shards, dryRun)
}

// The first statement checks that the table of Citus exists: without the extension, a query of it is an error.
const (
	hasCitus      = `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL`
	isDistributed = `SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('skus'))`
)

// asItSays refuses a database that is distributed if its URL does not say so: some statements would return wrong counts.
// It also refuses one that is not distributed if its URL says that it is.
func (d database) asItSays(ctx context.Context) error {
	if d.file != "" {
		return nil
	}
	var is bool
	err := d.look(ctx, func(db *sql.DB) error {
		var has bool
		if err := db.QueryRowContext(ctx, hasCitus).Scan(&has); err != nil || !has {
			return err
		}
		return db.QueryRowContext(ctx, isDistributed).Scan(&is)
	})
	switch {
	case err != nil:
		return fmt.Errorf("ask whether the database is distributed: %w", err)
	case is && !d.citus:
		return errors.New("the database is distributed over nodes of Citus: its URL must be citus://…")
	case !is && d.citus:
		return errors.New("the database is not distributed: run inventory migrate distribute")
	default:
		return nil
	}
}
