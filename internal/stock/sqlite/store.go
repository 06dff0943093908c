// Package sqlite keeps the stock in one SQLite file: the embedded default, which needs no other program.
//
// One connection writes, so every transaction has the database to itself and needs no row locks; BEGIN IMMEDIATE
// also keeps out writes of other programs. WAL lets readers go on meanwhile, and synchronous=FULL means that an
// acknowledged order survives a power cut. A file belongs to one process, which holds the lock of [LockFile]; readers
// in other processes may open the file meanwhile.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Store is a [stock.Store] on a SQLite file. It is safe for concurrent use.
type Store struct {
	tables.Base
	writer  *database // one connection; nil if the file was opened for reading
	reader  *database
	file    string
	opened  os.FileInfo // of the file
	sharing sharing
}

var _ stock.Store = (*Store)(nil)

// Order ids come in no order, so nearly every order of a batch changes another page. The later a page is moved from
// the log into the file, the more changes it takes along. A page in the cache need not be read.
const (
	walSize   = "wal_autocheckpoint(16384)" // pages: 64 MB
	cacheSize = "cache_size(-32768)"        // KiB
)

// Open opens a database file, whose schema must be up to date.
func Open(ctx context.Context, file string) (*Store, error) {
	writer, err := openDatabase(dsn(file, "synchronous(FULL)", "foreign_keys(ON)", walSize, cacheSize) + "&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	s, err := OpenReader(ctx, file)
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	s.writer = writer
	writer.prepare(ctx)
	if s.opened, err = os.Stat(file); err != nil {
		return nil, errors.Join(fmt.Errorf("open SQLite: %w", err), s.Close())
	}
	return s, nil
}

// OpenReader opens a database file only for reading, also while another process owns it. Writes fail.
func OpenReader(ctx context.Context, file string) (*Store, error) {
	reader, err := openDatabase(dsn(file, "query_only(ON)"))
	if err != nil {
		return nil, err
	}
	reader.SetMaxOpenConns(max(4, runtime.GOMAXPROCS(0)))
	s := &Store{reader: reader, file: file}
	s.sharing.Room, s.sharing.Carry = s.sharing.room, s.writeShared
	s.sharing.fewest, s.sharing.most = 2, mostShared
	s.Base = tables.Base{DB: reader, InTx: func(ctx context.Context, deadline time.Time, work func(tables.Tx) error) error {
		return s.inTx(ctx, deadline, func(tx *transaction) error { return work(tx) })
	}}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	reader.prepare(ctx)
	return s, nil
}

// DSN names a database file for database/sql, whatever characters are in its path.
func DSN(file string) string { return dsn(file) }

// ReadOnlyDSN names a database file for database/sql, to read what is there: it does not even change the journal's mode.
func ReadOnlyDSN(file string) string {
	return name(file, url.Values{"_pragma": {"busy_timeout(5000)"}, "mode": {"ro"}})
}

func dsn(file string, pragmas ...string) string {
	return name(file, url.Values{"_pragma": append([]string{"busy_timeout(5000)", "journal_mode(WAL)"}, pragmas...)})
}

func name(file string, query url.Values) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: query.Encode()}).String()
}

// Ping returns an error unless the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.reader.ExecContext(ctx, `SELECT 1`); err != nil {
		return fmt.Errorf("read SQLite: %w", err)
	}
	return nil
}

// Ready implements [stock.Store].
func (s *Store) Ready(ctx context.Context) error {
	if err := s.Ping(ctx); err != nil {
		return err
	}
	err := s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		_, err := tx.exec(ctx, "touch")
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", stock.ErrNotWritable, err)
	}
	return nil
}

// Pool implements [stock.Store]. It counts the connection that writes and those that read.
func (s *Store) Pool() (p stock.Pool) {
	for _, db := range []*database{s.reader, s.writer} {
		if db == nil {
			continue
		}
		stats := db.Stats()
		p.Open += stats.OpenConnections
		p.Busy += stats.InUse
		p.Waits += stats.WaitCount
		p.Waited += stats.WaitDuration
	}
	return p
}

// Close closes the file.
func (s *Store) Close() error {
	s.sharing.Close()
	err := s.reader.Close()
	if s.writer != nil {
		err = errors.Join(err, s.writer.Close())
	}
	return err
}

// Now implements [stock.Store].
func (s *Store) Now() time.Time { return now(time.Time{}) }

// Clock implements [stock.Store].
func (s *Store) Clock(string) (earliest, latest time.Time) {
	at := s.Now()
	return at, at
}

// now returns the instant of a decision in a transaction: the given one, or the time of the process' clock. A transaction that
// has the file does not wait any more.
func now(given time.Time) time.Time {
	if given.IsZero() {
		given = time.Now()
	}
	return given.UTC().Truncate(time.Microsecond)
}

// SoldOut implements [stock.Store].
func (s *Store) SoldOut(ctx context.Context, skus []string, limit int, accepted func(sku, orderID []byte)) (views map[string]stock.View, err error) {
	var sku, id sql.RawBytes
	read := tables.Scanned(func() { accepted(sku, id) }, &sku, &id)
	err = s.snapshot(ctx, func(tx *transaction) error {
		views, err = tables.SoldOut(ctx, tx, skus, limit, read)
		return err
	})
	return views, err
}

// Watch implements [stock.Store]. The file belongs to this process, which knows without a notification which units come back.
func (s *Store) Watch(context.Context, func(), func(string)) error { return nil }

// Audit implements [stock.Store].
func (s *Store) Audit(ctx context.Context, sku string, audited func(done, of int)) (audit stock.Audit, err error) {
	err = s.snapshot(ctx, func(tx *transaction) error {
		audit, err = tables.Audit(ctx, tx, sku, audited)
		return err
	})
	return audit, err
}
