package sqlite_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// export_test.go
//   - Sharing: says which writes share a transaction
//
// model_test.go
//   - equal
//   - model: is what the rows of one SKU should be
//   - sum
//
// plan_test.go
//   - opened: is a store on a new file, for tests of what is inside
//
// ready_test.go
//   - used: returns a database file that a store has used
//
// sharing_test.go
//   - hold: keeps all other writes waiting until it is released
//
// store_test.go
//   - hold: takes a file for itself, until it is released
//   - openFile: opens a file until the test is over
