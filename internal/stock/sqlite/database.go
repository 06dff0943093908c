package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"inventory/internal/stock/tables"
)

// A database prepares each statement once, because to prepare one takes as long as ten inserts. The texts of statements are
// constants, so there are not many.
type database struct {
	*sql.DB
	mu       sync.Mutex
	prepared map[string]*sql.Stmt // by text; nil for a statement that was first used in a transaction
}

func openDatabase(dsn string) (*database, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return &database{DB: db, prepared: make(map[string]*sql.Stmt)}, nil
}

// statement prepares a statement, or finds it. The caller must not be in a transaction, whose connection may be the only one.
func (d *database) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := d.known(text); s != nil {
		return s, nil
	}
	s, err := d.PrepareContext(ctx, dialect(text))
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if other := d.prepared[text]; other != nil { // another goroutine was faster
		return other, s.Close()
	}
	d.prepared[text] = s
	return s, nil
}

// known returns a statement, or nil if it is not prepared yet: then it is prepared before the next transaction.
func (d *database) known(text string) *sql.Stmt {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.prepared[text]
	if s == nil {
		d.prepared[text] = nil
	}
	return s
}

// wanted returns the texts of the statements that were used in a transaction and are not prepared yet.
func (d *database) wanted() (texts []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for text, s := range d.prepared {
		if s == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

// Each implements [tables.Querier].
func (d *database) Each(ctx context.Context, read func(tables.Row) error, text string, args ...any) error {
	s, err := d.statement(ctx, text)
	if err != nil {
		return err
	}
	return each(ctx, s, read, args)
}

// Close closes the statements and the connections.
func (d *database) Close() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.prepared {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return errors.Join(err, d.DB.Close())
}
