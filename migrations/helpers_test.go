package migrations_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// day_test.go
//   - day: plays everything that a shop does in a day, on SKUs of its own: plain is sold and changed in every way, limited has a buyer limit, and gone is archived, and most of it pruned
//
// foreign_test.go
//   - refused: opens a database with some tables, of which all are listed before and after
//
// main_test.go
//   - database: returns the URL of a new, empty PostgreSQL database
//   - run
//
// together_test.go
//   - connect
//   - execute: runs statements over one connection
//   - migrate: brings the PostgreSQL database at a URL up to date, and returns its steps
//
// undo_test.go
//   - patient: gives connections more time than a service does
//   - undo: undoes the steps down to the named one, including it, and closes the migrator
