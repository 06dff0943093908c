package main

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// chaos_mutants_test.go
//   - changed: returns the files of what sources are in a mutant, by the paths of the sources, which stay as they are
//   - edit: is a change of a source file: what is found is replaced
//
// comparisons_test.go
//   - runProgram: runs the program as a person does, who gets a report in which all adds up, and what was printed
//
// deliver_test.go
//   - aRun: is a report of the scenario chaos
//   - measured: is a scenario that measures nothing and reports what a test says
//   - readFile
//
// documents_test.go
//   - shows: checks that a document has a text between the marks of a name, or writes it there
//
// flashsale_test.go
//   - figure: is the value of a figure, -1 if there is none
//   - readReport: reads a report that was written as JSON
//   - requests: are the numbers of requests by what became of them
//   - smallSale: is one that the race detector can keep up with
//   - told: are the numbers of the second column of a report's table, by the first
//
// main_test.go
//   - outcome: is what a run of the program left behind
//   - program: returns the lab as a person starts it
//   - run: is the program inside a test: it returns the exit status
//   - runWith
//   - startService: starts a service on a SQLite file of its own
//   - writeFile
