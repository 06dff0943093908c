package main

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// access_test.go
//   - newKey: makes a key with the command, and adds it to a file
//
// commands_test.go
//   - exact: checks what holds for every sale
//   - parse
//
// copy_test.go
//   - left: waits until PostgreSQL has ended the sessions in databases
//   - sold: returns the URL of a database in which one SKU is sold, once its service has stopped
//
// documents_test.go
//   - document
//
// environment_front_test.go
//   - isServed: does through a proxy what callers do
//   - newFront: starts the processes with some flags, and then the proxy, which start makes of their addresses
//
// environments_test.go
//   - at: returns a URL with another address
//   - between: starts a program that stands between the processes and their servers or callers
//   - openSite: migrates a new database three times at once, and starts the processes with some flags
//   - restarts: kills a program, as a crash would, and starts it again
//   - stopLater: stops a server at the end of the test
//
// main_test.go
//   - cannotBe: runs command lines that cannot work, each after the same arguments
//   - database: returns the URL of a new PostgreSQL database
//   - endedWith
//   - failure: is a command line that cannot work, the texts in its last line, and its exit status
//   - invoke: runs the program inside the test
//   - invokeIn: is invoke until a context ends
//   - oneLine: checks that a command failed and gave the reason in one line, with each of the texts and nothing secret
//   - program: returns the program as its own process
//   - result: is what a command printed, and its exit status
//   - run: runs the program inside a test and returns the exit status
//   - spawn: runs the program as its own process
//   - sqliteFile
//   - wrongUse: is oneLine for a call that can never work
//
// outbox_test.go
//   - changesIn: reads the lines of `outbox read --json`
//   - seller: creates a SKU, and returns a function that sells units of it under an order id
//
// process_test.go
//   - audited: runs the audit command on a live system
//   - execute
//   - launch: starts a process, which has more time than by default
//   - newCrowd
//   - process: is one `inventory serve`
//   - serve: starts a process and waits until it listens
//
// schema_test.go
//   - change: runs a statement on a database
//
// start_test.go
//   - interrupted: sends signals to a process that waits for an answer of its server, whose address args gets
