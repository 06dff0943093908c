package migrations_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// day_test.go
//   - day: plays everything that a shop does in a day, on SKUs of its own: plain is sold and changed in every way, limited has a buyer limit, and gone is archived, and most of it pruned
//
// main_test.go
//   - database: returns the URL of a new, empty PostgreSQL database
//   - run
//
// migrations_test.go
//   - up
//
// outbox_test.go
//   - undo: undoes the steps down to the named one, including it, and closes the migrator
//
// together_test.go
//   - connect
//   - migrate: brings the PostgreSQL database at a URL up to date, and returns its steps
//
// undo_test.go
//   - onBoth: runs a test on an empty database of each kind
//   - undoable: is a database whose steps are undone
