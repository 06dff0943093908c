package access

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// access_test.go
//   - guard
//   - keyFile: makes a key of each scope, and the file with them
//   - write
//
// addkey_test.go
//   - letsIn
//
// token_test.go
//   - claims: are those of a good token
//   - pair: is a key to sign with, and the file of the key to check with
//   - pairs
//   - sign
