// Package kinds has every kind of lock that the lab compares or breaks, in one shape: ours, those of libraries, and those of
// textbooks. All have the same settings of their clients: a script is sent once, and a context's end ends a command.
package kinds

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/textbook"
)

// Kind is a kind of lock.
type Kind struct {
	Name   string
	Ours   bool
	Shared bool // several may have it at once
	Polls  bool // its waiters try every so often
	// Open makes the client of one process.
	Open func(ctx context.Context, s Setting) (*Client, error)

	absent func(s servers.URLs) bool // for want of its server; nil: never
}

// Setting is how a client is opened.
type Setting struct {
	servers.URLs
	textbook.Timing               // the lease is the watchdog's, where the lock has one
	Session         time.Duration // for which ZooKeeper believes that a crashed holder lives
	Connections     int           // for callers
	Spare           int           // to Redis, for what a library does beside its callers
	InTurn          bool          // commands to Redis go over all connections in turn
	Rival           bool          // of who comes later: where many may read, it is the one who writes
	Dial            Dial          // how connections are made; nil: as usual
	Hook            redis.Hook    // for commands to Redis; nil: none
	Meter           *Meter        // counts what is sent; nil: nobody does
}

// Dial makes a connection.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Client is one process's way to the locks of a kind.
type Client struct {
	// Lock is the way to a lock by its name, of one caller. A hold of ours is a *locking.Hold.
	Lock func(name string) textbook.Lock
	// Forget removes what a lock leaves behind for ever; nil: it leaves nothing.
	Forget func(ctx context.Context, name string) error
	Close  func() error
}

// All are the kinds whose servers are there.
func All(s servers.URLs) []Kind {
	return slices.DeleteFunc(append(append(ours(), libraries()...), textbooks()...), func(k Kind) bool {
		return k.absent != nil && k.absent(s)
	})
}

// These are the kinds of these names whose servers are there, in the order of the names.
func These(s servers.URLs, names ...string) (these []Kind) {
	all := All(s)
	for _, name := range names {
		if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
			these = append(these, all[i])
		}
	}
	return these
}

// Prepare makes the table of those that are rows.
func Prepare(ctx context.Context, s servers.URLs) error {
	db, err := OpenPostgres(ctx, Setting{URLs: s, Connections: 1})
	if err != nil {
		return err
	}
	defer db.Close()
	return textbook.CreateRows(ctx, db)
}
