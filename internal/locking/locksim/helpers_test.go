package locksim_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// faults_test.go
//   - broken: returns the files with a fault, by the paths of the sources, which stay as they are
//   - edit: An edit is a change of source files: what is found is replaced
//
// model_test.go
//   - busy
//   - end
//   - lock
//   - read
//
// named_red_test.go
//   - keepOut: cuts a process off from some servers, until it continues without them
//   - onNodes: is scripted on several servers
//
// named_test.go
//   - again: is a client that sends what was not answered again
//   - must: returns a hold that must be granted
//   - ok: fails the test on an error
//   - once: is a client that sends each script once
//   - scripted: runs a planned history without random faults
//   - soon: waits in virtual time
//   - warm: lets a process send each script once, so that the server knows the scripts and connections are open
//
// rising_test.go
//   - lag: delays the next request whose verb ends like that
//
// rules_test.go
//   - queueUp: lets new owners of a process wait for a lock, one after the other, and returns their holds
//   - renewOf
//   - swift: runs a history on a network that is fast enough for a lock to pass inside a process without a script
//
// sim_test.go
//   - history: A history is played from a seed to its end
//   - left: returns the stacks of the goroutines that are left in a bubble
//   - play: plays the history of a seed
