package breaks

import (
	"context"
	"time"

	"inventory/loadtest/internal/servers"
)

// contender is a lock that faults happen to.
type contender struct {
	name string
	ours bool
	// shared tells that several may have it at once.
	shared bool
	// open makes the client of one process.
	open func(ctx context.Context, s setting) (*access, error)
}

// setting is how a client is opened.
type setting struct {
	servers.URLs
	lease       time.Duration // for which a crashed holder is believed to live; the watchdog's, where the lock has one
	session     time.Duration // the same, of ZooKeeper
	connections int           // shared by all callers; 0: as many as they like
	rival       bool          // of who comes later: where many may read, it is the one who writes
	cable       *cable        // that connections go through; nil: their own
	trap        *trap         // for commands to Redis; nil: none
}

// access is one process's way to the locks of a contender.
type access struct {
	// lock waits for a lock.
	lock func(ctx context.Context, name string) (*grip, error)
	// try tries once. It returns nil where somebody else has the lock.
	try func(ctx context.Context, name string) (*grip, error)
	// forget removes what a lock leaves behind for ever; nil: it leaves nothing.
	forget func(ctx context.Context, name string) error
	close  func() error
}

// grip is a lock that was taken.
type grip struct {
	unlock func(ctx context.Context) error
	fence  func() fence    // nil: it has no token
	lost   context.Context // ends with its cause when the lock is lost; nil: nobody tells
}

// fence is what a guard asks for.
type fence struct {
	token int64
	owner string
}

// all are the contenders whose servers are there: ours, libraries, and the textbooks'.
func all(s servers.URLs) (contenders []contender) {
	contenders = append(contenders, ours(s)...)
	contenders = append(contenders, libraries()...)
	return append(contenders, textbooks(s)...)
}
