package gauges

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"inventory/internal/stock/sqlite"
)

//go:embed sqlite_relations.sql
var sqliteRelations string

// sqlitePages is the number of a file's pages, with those still in the log, and the size of a page.
const sqlitePages = `SELECT page_count, page_size FROM pragma_page_count, pragma_page_size`

// sqliteFile is the path of the service's SQLite file.
type sqliteFile string

func (path sqliteFile) read(ctx context.Context, edge bool) (reading Reading, err error) {
	if _, err := os.Stat(string(path)); err != nil { // SQLite would make a missing file
		return reading, fmt.Errorf("look at the SQLite file: %w", err)
	}
	db, err := sql.Open("sqlite", sqlite.DSN(string(path)))
	if err != nil {
		return reading, fmt.Errorf("open SQLite: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var pages, size float64
	if err := db.QueryRowContext(ctx, sqlitePages).Scan(&pages, &size); err != nil {
		return reading, fmt.Errorf("ask SQLite for its size: %w", err)
	}
	reading.values = map[Quantity]float64{fileBytes: pages * size, logBytes: 0}
	log, err := os.Stat(string(path) + "-wal")
	switch {
	case err == nil:
		reading.values[logBytes] = float64(log.Size())
	case !errors.Is(err, fs.ErrNotExist):
		return reading, fmt.Errorf("look at SQLite's log: %w", err)
	}
	if !edge { // the sizes of tables require a read of all pages
		return reading, nil
	}
	reading.relations, err = relationsOf(ctx, db)
	return reading, err
}

func relationsOf(ctx context.Context, db *sql.DB) (all []Relation, err error) {
	rows, err := db.QueryContext(ctx, sqliteRelations)
	if err == nil {
		defer rows.Close()
		for err == nil && rows.Next() {
			r := Relation{Live: math.NaN(), Dead: math.NaN()}
			err = rows.Scan(&r.Name, &r.Table, &r.Bytes)
			all = append(all, r)
		}
		err = errors.Join(err, rows.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("ask SQLite for the sizes of tables: %w", err)
	}
	return all, nil
}
