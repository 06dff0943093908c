//go:build unix

// Package servertest starts private Redis and PostgreSQL servers for tests and
// for the load lab: single ones, and Redis with replicas, under Sentinel and as
// a Cluster. Where ZooKeeper, MongoDB and Citus are installed, it starts them too.
//
// # Protocol
//
// A server gets a temporary folder of its own and a free port on 127.0.0.1.
// Start returns when the server has answered a real request and has proved, by
// its process id or its data folder, that it is the one just started and not a
// stranger who took the port first. A bind failure is tried again on another
// port; every other failure is returned together with the end of the server's
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
//	Stop leads from every state to the end, and may be called twice.
//
// The nodes of a group are servers like any other: kill, pause and restart them
// one by one. Settled waits until a group has got over it. Replication is as
// asynchronous as ever: what a master has been told just before it dies is lost.
//
// The context given to Start and Restart bounds the start alone; a server runs
// until Kill or Stop.
//
// # Failure cases
//
//   - The owner dies without Stop: on Linux the kernel signals the server, which
//     ends too. Its folder stays behind, and the next Start on the machine
//     removes it: a folder belongs to whoever holds the lock on its lock file,
//     and the kernel drops that lock with its holder. Elsewhere than on Linux
//     an abandoned server has to be ended by hand.
//   - Ctrl-C: servers live in process groups of their own, so the terminal does
//     not end them before their owner has finished with them.
//   - PostgreSQL refuses to run as root: its processes then run as the user
//     postgres, or else nobody, who also owns the folder.
//
// Anyone on the machine may connect to these servers, without a password. They
// are for data that nobody misses.
package servertest
