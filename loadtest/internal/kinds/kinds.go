// Package kinds has every kind of lock that the lab compares or breaks, in one shape: ours, those of libraries, and those of
// textbooks. All have the same settings of their clients: a script is sent once, and the end of a context ends a command.
//
// Each lock of a textbook has a flaw, which its comment names and `go run ./loadtest locks --break` shows. They are written as
// well as their recipes allow, to be compared with the locks of internal/locking, and for nothing else.
package kinds

import (
	"context"
	"net"
	"slices"
	"time"

	"inventory/loadtest/internal/servers"
)

// Kind is a kind of lock.
type Kind struct {
	Name   string
	Flaw   string // what is known to be wrong with it; "": nothing
	Ours   bool
	Shared bool // several callers may have it at once
	Polls  bool // its waiters poll
	// Open makes the client of one process.
	Open func(ctx context.Context, s Setting) (*Client, error)

	absent func(s servers.URLs) bool // for want of its server; nil: never
}

// Timing is the lease of a lock, and how often a waiter polls.
type Timing struct{ Lease, Poll time.Duration }

// Setting is how a client is opened.
type Setting struct {
	servers.URLs
	Timing                    // the lease is the watchdog's, where the lock has one
	Session     time.Duration // for which ZooKeeper believes that a crashed holder lives
	Connections int           // for callers
	Spare       int           // to Redis, for what a library does in addition to its callers
	Rival       bool          // of a caller that comes later: of a lock that many readers share, the writer
	Dial        Dial          // how connections are made; nil: as usual
	Meter       *Meter        // counts what is sent; nil: it is not counted
}

// Dial makes a connection.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Client has the locks of a kind, for one process.
type Client struct {
	// Lock is a lock by its name. A hold of ours is a *locking.Hold.
	Lock func(name string) Lock
	// Forget removes what a lock leaves behind for ever; nil: it leaves nothing.
	Forget func(ctx context.Context, name string) error
	Close  func() error
}

// All are the kinds whose servers are installed.
func All(s servers.URLs) []Kind {
	return slices.DeleteFunc(append(append(ours(), Libraries()...), Textbooks()...), func(k Kind) bool {
		return k.absent != nil && k.absent(s)
	})
}

// These are the kinds of these names whose servers are installed, in the order of the names.
func These(s servers.URLs, names ...string) (these []Kind) {
	all := All(s)
	for _, name := range names {
		if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
			these = append(these, all[i])
		}
	}
	return these
}

// Textbooks are the locks that textbooks teach. ZooKeeper's and MongoDB's need servers that are not everywhere.
func Textbooks() []Kind {
	return []Kind{
		{
			Name: SetNXExpire, Polls: true, Open: onRedis(SetNXExpire, setNXExpire),
			Flaw: "two steps: a holder that dies in between locks for ever; and DEL gives back whoever's lock it is",
		},
		{Name: SetPX, Polls: true, Open: onRedis(SetPX, setPX), Flaw: leaseFlaw},
		{Name: Signal, Open: onRedis(Signal, signal), Flaw: "that of SET NX PX; and a waiter occupies a connection"},
		{Name: Row, Polls: true, Open: onPostgres(row), Flaw: "the row of a holder that has died stays for ever"},
		{
			Name: RowExpiry, Polls: true, Open: onPostgres(rowExpiry),
			Flaw: "a holder that outlives the expiry is not told and goes on, as with SET NX PX",
		},
		{
			Name: Advisory, Open: onPostgres(advisory),
			Flaw: "the lock is the connection's: when that breaks the lock goes, and the holder is not told and goes on",
		},
		{
			Name: Sequential, Open: openSequential, absent: func(s servers.URLs) bool { return s.ZooKeeper == "" },
			Flaw: "the session of a holder that stands still ends, and the holder goes on; its numbers are seldom used as tokens",
		},
		{
			Name: Document, Polls: true, Open: openDocument, absent: func(s servers.URLs) bool { return s.MongoDBURL == "" },
			Flaw: "the callers' clocks judge when a hold ends; a holder that outlives it is not told and goes on, as with SET NX PX",
		},
	}
}
