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

// sqlitePages is the size of a file in pages, those too that are still in the log, and that of a page.
const sqlitePages = `SELECT page_count, page_size FROM pragma_page_count, pragma_page_size`

// sqliteFile is a SQLite file beside the service that it belongs to.
type sqliteFile struct {
	path string
	db   *sql.DB
}

func (*sqliteFile) name() string { return "SQLite" }

func (s *sqliteFile) read(ctx context.Context, edge bool) (reading Reading, err error) {
	if err := s.open(); err != nil {
		return reading, err
	}
	var pages, size float64
	if err := s.db.QueryRowContext(ctx, sqlitePages).Scan(&pages, &size); err != nil {
		return reading, fmt.Errorf("ask SQLite for its size: %w", err)
	}
	reading.values = map[Quantity]float64{fileBytes: pages * size, logBytes: 0}
	log, err := os.Stat(s.path + "-wal")
	switch {
	case err == nil:
		reading.values[logBytes] = float64(log.Size())
	case !errors.Is(err, fs.ErrNotExist):
		return reading, fmt.Errorf("look at SQLite's log: %w", err)
	}
	if edge { // all pages are looked at
		if reading.relations, err = s.relations(ctx); err != nil {
			return reading, err
		}
		reading.sizes()
	}
	return reading, nil
}

func (s *sqliteFile) relations(ctx context.Context) (all []Relation, err error) {
	rows, err := s.db.QueryContext(ctx, sqliteRelations)
	if err != nil {
		return nil, fmt.Errorf("ask SQLite for the sizes of tables: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		r := Relation{Live: math.NaN(), Dead: math.NaN()}
		if err := rows.Scan(&r.Name, &r.Table, &r.Bytes); err != nil {
			return nil, fmt.Errorf("ask SQLite for the sizes of tables: %w", err)
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("ask SQLite for the sizes of tables: %w", err)
	}
	return all, nil
}

// open opens the file once it is there: to open it would make it.
func (s *sqliteFile) open() error {
	if s.db != nil {
		return nil
	}
	if _, err := os.Stat(s.path); err != nil {
		return fmt.Errorf("look at the SQLite file: %w", err)
	}
	db, err := sql.Open("sqlite", sqlite.DSN(s.path))
	if err != nil {
		return fmt.Errorf("open SQLite: %w", err)
	}
	db.SetMaxOpenConns(1)
	s.db = db
	return nil
}

func (s *sqliteFile) close(context.Context) error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}
