package locking

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// conformance_test.go
//   - eachKind: runs a test for each of them
//   - exclusiveKinds: are the kinds that let one owner in at a time
//   - fullLock: is what every kind offers, and the lock's process
//   - offered
//
// deaf_test.go
//   - subscribes: reports whether a client subscribes by these bytes
//
// fair_test.go
//   - sides: runs a test with a FairMutex and with the writing side of an RWMutex, which make the same promises
//
// fault_test.go
//   - opaque: hides the type of a client, as a wrapper or a mock might
//   - tap: A tap sits between the library and the client, and can lose, repeat or hold back what goes out
//   - tapArgs: returns the calls of a script that a tap has seen
//   - written: makes the library believe, as is true, that a command went out before it was lost
//
// fifo_script_test.go
//   - desk: A desk calls the scripts of first-come locks directly, like many processes
//
// groups_test.go
//   - callers: Callers lock and unlock, each until it has had its cycles and should stop
//   - flushScripts: makes a server forget all scripts
//   - guard: A guard is what a lock protects: it takes writes with tokens, and notices two writers at once
//
// handoff_test.go
//   - inLine: returns how many callers of a process wait for a lock
//   - successor: A successor is a caller that waits in line, and the hold that it will get
//
// heartbeat_test.go
//   - queue: puts waiters into the queue of a lock, as far as this process knows
//   - woken: returns the tickets whose callers are to look again
//
// lost_test.go
//   - closeAll
//   - everyKind: makes a lock of each kind on three servers
//
// main_test.go
//   - each: runs a test against a real Redis, and against miniredis in virtual time
//   - onRedis: runs a test against the shared Redis
//   - place: A place is where a test runs
//   - private: starts a Redis for a test that damages it
//   - run
//   - world: A world is a server and a name that only this test uses
//
// multilock_lease_test.go
//   - after: returns the name of a mutex that comes after a place in the order of all locks
//
// multilock_test.go
//   - counted: is a Mutex with a Lock of its own
//
// observer_test.go
//   - diary: A diary is an Observer that records everything
//
// redlock_line_test.go
//   - commands: counts what a process has sent to all its servers
//
// redlock_round_test.go
//   - answer: An answer is what a node answers, and after how long
//
// redlock_test.go
//   - fleet: A fleet is several servers and a name that only this test uses
//   - fleetOf: runs a test against servers in virtual time
//   - keepsDeadline: makes a client keep deadlines, so that no call of it continues after its caller has left
//
// refusal_test.go
//   - refusing: runs a test for each kind and each refusal, in virtual time
//
// renewal_test.go
//   - before: A before runs a function before the first pipeline of a client
//
// rwmutex_test.go
//   - second
//
// silent_test.go
//   - fairOf
//   - mutexOf
//   - onShire
//   - shire: A shire is a cluster of three nodes in virtual time
//
// stopped_test.go
//   - holdUntilLost: takes each lock twice, prints the tokens, and uses all until they are lost
//   - twice: takes a lock twice
//
// virtual_test.go
//   - memory: A memory is a server in virtual time, without an address
//   - newMemory
//   - virtual: runs a test against a miniredis in virtual time, which passes only while all goroutines wait
