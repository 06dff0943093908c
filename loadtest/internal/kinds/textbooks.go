package kinds

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/textbook"
)

// textbooks are the locks that textbooks teach. ZooKeeper's and MongoDB's need servers that are not everywhere.
func textbooks() []Kind {
	return []Kind{
		onRedis(textbook.SetNXExpireName, true, textbook.SetNXExpire),
		onRedis(textbook.SetPXName, true, textbook.SetPX),
		onRedis(textbook.SignalName, false, textbook.Signal),
		onPostgres(textbook.RowName, true, textbook.Row),
		onPostgres(textbook.RowExpiryName, true, textbook.RowExpiry),
		onPostgres(textbook.AdvisoryName, false, func(db *pgxpool.Pool, name string, _ textbook.Timing) textbook.Lock {
			return textbook.Advisory{DB: db, Name: name}
		}),
		{Name: textbook.PooledName, Polls: true, Open: openPooled},
		{Name: textbook.SequentialName, Open: openSequential, absent: func(s servers.URLs) bool { return s.ZooKeeper == "" }},
		{Name: textbook.DocumentName, Polls: true, Open: openDocument, absent: func(s servers.URLs) bool { return s.MongoDBURL == "" }},
	}
}

// onRedis is a lock on Redis. What it leaves behind is its key.
func onRedis(name string, polls bool, lock func(rdb redis.UniversalClient, key string, t textbook.Timing) textbook.Lock) Kind {
	return Kind{Name: name, Polls: polls, Open: func(ctx context.Context, s Setting) (*Client, error) {
		rdb, err := OpenRedis(ctx, s.RedisURL, s)
		if err != nil {
			return nil, err
		}
		key := func(lock string) string { return name + ":" + lock }
		return &Client{
			Lock:   func(name string) textbook.Lock { return lock(rdb, key(name), s.Timing) },
			Forget: func(ctx context.Context, name string) error { return rdb.Del(ctx, key(name)).Err() },
			Close:  rdb.Close,
		}, nil
	}}
}

// onPostgres is a lock in PostgreSQL.
func onPostgres(name string, polls bool, lock func(db *pgxpool.Pool, name string, t textbook.Timing) textbook.Lock) Kind {
	return Kind{Name: name, Polls: polls, Open: func(ctx context.Context, s Setting) (*Client, error) {
		db, err := OpenPostgres(ctx, s)
		if err != nil {
			return nil, err
		}
		return &Client{
			Lock:  func(name string) textbook.Lock { return lock(db, name, s.Timing) },
			Close: func() error { db.Close(); return nil },
		}, nil
	}}
}

// openSequential connects to ZooKeeper. All callers of a client share its session, as its documentation has it.
func openSequential(ctx context.Context, s Setting) (*Client, error) {
	connection, err := textbook.ConnectZooKeeper(ctx, s.ZooKeeper, s.Session, s.dialZooKeeper)
	if err != nil {
		return nil, err
	}
	return &Client{
		Lock:  func(name string) textbook.Lock { return textbook.Sequential{ZooKeeper: connection, Name: name} },
		Close: func() error { connection.Close(); return nil },
	}, nil
}

// openDocument connects to MongoDB. What a lock leaves behind is its document.
func openDocument(ctx context.Context, s Setting) (*Client, error) {
	settings := options.Client().SetMaxPoolSize(uint64(s.Connections)).SetDialer(dialer(s.dial)) //nolint:gosec // a few
	if s.Meter != nil {
		settings.SetMonitor(&event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) { s.Meter.Commands.Add(1) }})
	}
	locks, disconnect, err := textbook.ConnectMongoDB(ctx, s.MongoDBURL, settings)
	if err != nil {
		return nil, err
	}
	return &Client{
		Lock: func(name string) textbook.Lock { return textbook.Document(locks, name, s.Timing) },
		Forget: func(ctx context.Context, name string) error {
			_, err := locks.DeleteOne(ctx, bson.M{"_id": name})
			return err
		},
		Close: disconnect,
	}, nil
}

// openPooled connects to a pooler that lends its connections for one statement each, in turn.
func openPooled(ctx context.Context, s Setting) (*Client, error) {
	lent := &turns{}
	one := s
	one.Connections = 1
	for range s.Connections {
		db, err := OpenPostgres(ctx, one)
		if err != nil {
			return nil, errors.Join(err, lent.close())
		}
		lent.pools = append(lent.pools, db)
	}
	return &Client{Lock: func(name string) textbook.Lock { return textbook.Pooled(lent, name, s.Timing) }, Close: lent.close}, nil
}

// turns are connections that are lent in turn.
type turns struct {
	pools []*pgxpool.Pool // of one connection each
	last  atomic.Int64
}

// QueryRow implements [textbook.Pool].
func (t *turns) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.pools[t.last.Add(1)%int64(len(t.pools))].QueryRow(ctx, sql, args...)
}

func (t *turns) close() error {
	for _, db := range t.pools {
		db.Close()
	}
	return nil
}
