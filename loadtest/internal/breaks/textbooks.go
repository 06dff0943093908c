package breaks

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/textbook"
)

// textbooks are the locks that textbooks teach. ZooKeeper's and MongoDB's need servers that are not everywhere.
func textbooks(s servers.URLs) []contender {
	contenders := []contender{
		onRedis(textbook.SetNXExpireName, func(rdb *redis.Client, name string, s setting) textbook.Lock {
			return textbook.SetNXExpire{Redis: rdb, Key: name, Lease: s.lease, Poll: poll}
		}),
		onRedis(textbook.SetPXName, func(rdb *redis.Client, name string, s setting) textbook.Lock {
			return textbook.SetPX{Redis: rdb, Key: name, Lease: s.lease, Poll: poll}
		}),
		onPostgres(textbook.RowName, func(db *pgxpool.Pool, name string, _ setting) textbook.Lock {
			return textbook.Row{DB: db, Name: name, Poll: poll}
		}),
		onPostgres(textbook.RowExpiryName, func(db *pgxpool.Pool, name string, s setting) textbook.Lock {
			return textbook.RowExpiry{DB: db, Name: name, Lease: s.lease, Poll: poll}
		}),
		onPostgres(textbook.AdvisoryName, func(db *pgxpool.Pool, name string, _ setting) textbook.Lock {
			return textbook.Advisory{DB: db, Name: name}
		}),
		{name: textbook.PooledName, open: openPooled},
	}
	if s.ZooKeeper != "" {
		contenders = append(contenders, contender{name: textbook.SequentialName, open: openSequential})
	}
	if s.MongoDBURL != "" {
		contenders = append(contenders, contender{name: textbook.DocumentName, open: openDocument})
	}
	return contenders
}

// onRedis is a lock on Redis. What it leaves behind is its key.
func onRedis(name string, lock func(rdb *redis.Client, name string, s setting) textbook.Lock) contender {
	return contender{name: name, open: func(ctx context.Context, s setting) (*access, error) {
		rdb, err := openRedis(ctx, s.RedisURL, s)
		if err != nil {
			return nil, err
		}
		a := accessOf(func(name string) textbook.Lock { return lock(rdb, name, s) }, rdb.Close)
		a.forget = func(ctx context.Context, name string) error { return rdb.Del(ctx, name).Err() }
		return a, nil
	}}
}

// onPostgres is a lock in PostgreSQL.
func onPostgres(name string, lock func(db *pgxpool.Pool, name string, s setting) textbook.Lock) contender {
	return contender{name: name, open: func(ctx context.Context, s setting) (*access, error) {
		db, err := openPostgres(ctx, s, s.pool())
		if err != nil {
			return nil, err
		}
		return accessOf(func(name string) textbook.Lock { return lock(db, name, s) }, closing(db)), nil
	}}
}

func openSequential(ctx context.Context, s setting) (*access, error) {
	connection, err := textbook.ConnectZooKeeper(ctx, s.ZooKeeper, s.session, s.cable.dialTimeout)
	if err != nil {
		return nil, err
	}
	of := func(name string) textbook.Lock { return textbook.Sequential{ZooKeeper: connection, Name: name} }
	return accessOf(of, func() error { connection.Close(); return nil }), nil
}

// openDocument connects to MongoDB. What a lock leaves behind is its document.
func openDocument(ctx context.Context, s setting) (*access, error) {
	settings := options.Client().SetMaxPoolSize(uint64(s.pool())).SetDialer(mongoDialer{s.cable})
	locks, disconnect, err := textbook.ConnectMongoDB(ctx, s.MongoDBURL, settings)
	if err != nil {
		return nil, err
	}
	a := accessOf(func(name string) textbook.Lock {
		return textbook.Document{Locks: locks, Name: name, Lease: s.lease, Poll: poll}
	}, disconnect)
	a.forget = func(ctx context.Context, name string) error {
		_, err := locks.DeleteOne(ctx, bson.M{"_id": name})
		return err
	}
	return a, nil
}

// mongoDialer is how MongoDB's driver dials.
type mongoDialer struct{ cable *cable }

// DialContext implements [options.ContextDialer].
func (d mongoDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.cable.dial(ctx, network, address)
}

// openPooled connects to a pooler that lends its connections for one statement each, in turn.
func openPooled(ctx context.Context, s setting) (*access, error) {
	lent := &turns{}
	for range s.pool() {
		db, err := openPostgres(ctx, s, 1)
		if err != nil {
			return nil, errors.Join(err, lent.close())
		}
		lent.pools = append(lent.pools, db)
	}
	return accessOf(func(name string) textbook.Lock { return textbook.Pooled{DB: lent, Name: name, Poll: poll} }, lent.close), nil
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

func closing(db *pgxpool.Pool) func() error { return func() error { db.Close(); return nil } }

// accessOf is the way to a textbook's lock.
func accessOf(of func(name string) textbook.Lock, closer func() error) *access {
	return &access{
		lock: func(ctx context.Context, name string) (*grip, error) { return textbookGrip(of(name).Lock(ctx)) },
		try: func(ctx context.Context, name string) (*grip, error) {
			g, err := textbookGrip(of(name).TryLock(ctx))
			if errors.Is(err, textbook.ErrBusy) {
				return nil, nil
			}
			return g, err
		},
		close: closer,
	}
}

func textbookGrip(hold textbook.Hold, err error) (*grip, error) {
	if err != nil {
		return nil, err
	}
	return &grip{unlock: hold.Unlock}, nil
}
