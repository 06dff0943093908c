//go:build unix

// Package servertest starts private Redis and PostgreSQL servers for tests and
// for the load lab: single ones, and Redis with replicas, under Sentinel and as
// a Cluster, PostgreSQL with a standby or by Citus, and any other program.
//
// # Protocol
//
// A server gets its own temporary folder and a free port on 127.0.0.1. Start
// returns when the server has answered a real request and has proved, by its
// process id or its data folder, that it is the one just started and not
// another program that took the port first. Of any other program it is enough
// that it accepts connections. Start tries again on another port after a bind
// failure; it returns every other failure together with the end of the server's
// log.
//
//	          Start
//	            |
//	            v     Pause
//	  +----> running <-----> paused        Redis only
//	  |         |    Resume    |
//	Restart     | Kill         | Kill
//	  |         v              |
//	  +------ killed <---------+
//
//	Stop ends a server in every state, and may be called twice.
//
// The nodes of a group are servers like any other: kill, pause and restart them
// one by one. Settled waits until a group has recovered. Replication is
// asynchronous as usual: a write just before the master dies is lost.
//
// The context given to Start and Restart bounds the start only; a server runs
// until Kill or Stop.
//
// # Failure cases
//
//   - The owner dies without Stop: on Linux the kernel signals the server, which
//     ends too. Its folder stays behind, and the next Start on the machine
//     removes it: a folder belongs to the process that holds the lock on its
//     lock file, and the kernel drops that lock with its holder. On systems
//     other than Linux a person has to end an abandoned server.
//   - Ctrl-C: servers live in their own process groups, so the terminal does
//     not end them before their owner has finished with them.
//   - PostgreSQL refuses to run as root: its processes then run as the user
//     postgres, or else as the user nobody, who also owns the folder.
//
// Anyone on the machine may connect to these servers, without a password. They
// are for data that may be lost.
package servertest
