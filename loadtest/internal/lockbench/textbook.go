package lockbench

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/textbook"
)

// textbookPoll is how often waiters of the textbooks' locks try that cannot wait.
const textbookPoll = 50 * time.Millisecond

// textbooks are the locks that textbooks teach, beside [advisory]. Two that only differ in how they fail are one.
func textbooks() []kind {
	return []kind{
		onRedis(textbook.SetNXExpireName, func(w *wire, name string) textbook.Lock {
			return textbook.SetNXExpire{Redis: w.rdb, Key: "setnx:" + name, Lease: peerLease, Poll: textbookPoll}
		}),
		onRedis(textbook.SetPXName, func(w *wire, name string) textbook.Lock {
			return textbook.SetPX{Redis: w.rdb, Key: "setpx:" + name, Lease: peerLease, Poll: textbookPoll}
		}),
		uniqueRow(),
		sequentialNodes(),
		document(),
	}
}

// polled is the name of a lock with the interval of its waiters.
func polled(name string) string { return fmt.Sprint(name, " ", textbookPoll) }

// onRedis is a lock on Redis.
func onRedis(name string, lock func(w *wire, name string) textbook.Lock) kind {
	return kind{name: polled(name), open: func(ctx context.Context, s servers.URLs, callers int) (client, error) {
		w, err := openWire(ctx, s.RedisURL, callers)
		if err != nil {
			return nil, err
		}
		return &textbookClient{
			of:     func(name string) textbook.Lock { return lock(w, name) },
			sent:   w.commands.Load,
			closer: w.rdb.Close,
		}, nil
	}}
}

// uniqueRow is a row of PostgreSQL.
func uniqueRow() kind {
	return kind{name: polled(textbook.RowName), open: func(ctx context.Context, s servers.URLs, callers int) (client, error) {
		db, sent, err := openPool(ctx, s.DatabaseURL, callers)
		if err != nil {
			return nil, err
		}
		if err := textbook.CreateRows(ctx, db); err != nil {
			db.Close()
			return nil, err
		}
		return &textbookClient{
			of:     func(name string) textbook.Lock { return textbook.Row{DB: db, Name: name, Poll: textbookPoll} },
			sent:   sent,
			closer: func() error { db.Close(); return nil },
		}, nil
	}}
}

// zooKeeperSession is how long a session outlives its client.
const zooKeeperSession = 10 * time.Second

// sequentialNodes is ZooKeeper's recipe. All callers of a client share its session, as its documentation has it.
func sequentialNodes() kind {
	return kind{
		name:   textbook.SequentialName,
		absent: func(s servers.URLs) bool { return s.ZooKeeper == "" },
		open: func(ctx context.Context, s servers.URLs, _ int) (client, error) {
			var sent atomic.Int64
			connection, err := textbook.ConnectZooKeeper(ctx, s.ZooKeeper, zooKeeperSession, counting(&sent))
			if err != nil {
				return nil, err
			}
			return &textbookClient{
				of:     func(name string) textbook.Lock { return textbook.Sequential{ZooKeeper: connection, Name: name} },
				sent:   sent.Load,
				closer: func() error { connection.Close(); return nil },
			}, nil
		},
	}
}

// document is a document of MongoDB, with a connection for each caller.
func document() kind {
	return kind{
		name:   polled(textbook.DocumentName),
		absent: func(s servers.URLs) bool { return s.MongoDBURL == "" },
		open: func(ctx context.Context, s servers.URLs, callers int) (client, error) {
			var sent atomic.Int64
			settings := options.Client().SetMaxPoolSize(uint64(callers)).SetMonitor(&event.CommandMonitor{
				Started: func(context.Context, *event.CommandStartedEvent) { sent.Add(1) },
			})
			locks, disconnect, err := textbook.ConnectMongoDB(ctx, s.MongoDBURL, settings)
			if err != nil {
				return nil, err
			}
			return &textbookClient{
				of: func(name string) textbook.Lock {
					return textbook.Document{Locks: locks, Name: name, Lease: peerLease, Poll: textbookPoll}
				},
				sent:   sent.Load,
				closer: disconnect,
			}, nil
		},
	}
}

// counting counts the packets that a client of ZooKeeper writes: each is one write.
func counting(sent *atomic.Int64) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		connection, err := net.DialTimeout(network, address, timeout)
		if err != nil {
			return nil, err
		}
		return &packetConn{connection, sent}, nil
	}
}

type packetConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c *packetConn) Write(p []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(p)
}

// textbookClient is a client of one of the textbooks' locks.
type textbookClient struct {
	of     func(name string) textbook.Lock
	sent   func() int64
	closer func() error
}

func (c *textbookClient) commands() int64           { return c.sent() }
func (c *textbookClient) close() error              { return c.closer() }
func (c *textbookClient) handle(name string) handle { return textbookHandle{c.of(name)} }

type textbookHandle struct{ of textbook.Lock }

func (h textbookHandle) lock(ctx context.Context) (hold, error) { return h.of.Lock(ctx) }

// knownFlaws tells what is wrong with the textbooks' locks that took part, however fast they are.
func knownFlaws(cases []experiment.Result) report.Section {
	table := &report.Table{Columns: []string{"", "known flaw"}}
	for _, known := range textbook.All() {
		took := func(c experiment.Contender) bool { return c.Name == known.Name || c.Name == polled(known.Name) }
		if slices.ContainsFunc(cases, func(r experiment.Result) bool { return slices.ContainsFunc(r.Case.Contenders, took) }) {
			table.Rows = append(table.Rows, []string{known.Name, known.Flaw})
		}
	}
	return report.Section{Name: "what is wrong with the textbooks' locks", Table: table, Notes: []string{"--break shows it"}}
}

// isLibrary tells whether a peer is a library of locks on Redis.
func isLibrary(name string) bool {
	return strings.HasPrefix(name, bsmName) || name == redsyncName
}

// there are the kinds whose servers are there.
func (b *bench) there(kinds []kind) []kind {
	return slices.DeleteFunc(kinds, func(k kind) bool { return k.absent != nil && k.absent(b.servers) })
}
