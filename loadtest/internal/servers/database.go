package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// CreateDatabase makes an empty database of a fresh name on a PostgreSQL server, and returns its URL. On a server of others Close
// drops it, also while it is used; one of this run ends soon, and a drop takes a checkpoint.
func CreateDatabase(ctx context.Context, serverURL, prefix string, others bool, c *Closers) (databaseURL string, err error) {
	parsed, err := url.Parse(serverURL)
	if err != nil {
		return "", errors.New("database URL: not a valid postgres:// URL") // err would quote the password
	}
	name := NewName(prefix)
	quoted := pgx.Identifier{name}.Sanitize()
	if err := Execute(ctx, serverURL, "CREATE DATABASE "+quoted); err != nil {
		return "", fmt.Errorf("make a database: %w", err)
	}
	if others {
		c.OnClose(func() error {
			return Execute(context.WithoutCancel(ctx), serverURL, "DROP DATABASE "+quoted+" WITH (FORCE)")
		})
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

// Execute runs a statement over a connection of its own.
func Execute(ctx context.Context, databaseURL, statement string) error {
	return Connected(ctx, databaseURL, func(connection *pgx.Conn) error {
		_, err := connection.Exec(ctx, statement)
		return err
	})
}

// Connected does something over a connection of its own.
func Connected(ctx context.Context, databaseURL string, do func(connection *pgx.Conn) error) error {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return errors.New("database URL: not a valid postgres:// URL") // err would quote parts of it
	}
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("reach PostgreSQL: %w", err)
	}
	return errors.Join(do(connection), connection.Close(context.WithoutCancel(ctx)))
}

// RedisOptions reads a URL. Its error does not quote that: it may hold a password.
func RedisOptions(redisURL string) (*redis.Options, error) {
	options, err := redis.ParseURL(redisURL)
	if err != nil {
		return nil, errors.New("redis URL: must be redis://HOST:PORT/DB or rediss://…")
	}
	return options, nil
}

// NewName is a fresh name of a database, or of a SKU, whose locks are named after it.
func NewName(prefix string) string { return prefix + strings.ToLower(rand.Text()[:12]) }

const (
	// documentsDatabase and documentsCollection are where the locks are that are documents of MongoDB.
	documentsDatabase, documentsCollection = "inventory_lab", "locks"
	// mongoPatience bounds how long a server is looked for, and what a goodbye may take.
	mongoPatience = 3 * time.Second
	// mongoHeartbeat is how often a driver checks that the server is there: as often as it can.
	mongoHeartbeat = 500 * time.Millisecond
)

// ConnectMongoDB connects to a server of MongoDB's protocol by its URL, and returns the collection of locks when the
// server has answered. A write is answered when it is in the journal of most servers, and is sent once. Settings are more
// of them. The caller disconnects.
func ConnectMongoDB(ctx context.Context, url string, settings ...*options.ClientOptions) (locks *mongo.Collection, disconnect func() error, err error) {
	journaled := true
	base := options.Client().ApplyURI(url).SetRetryWrites(false).
		SetServerSelectionTimeout(mongoPatience).SetHeartbeatInterval(mongoHeartbeat).
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journaled})
	if base.Validate() != nil {
		return nil, nil, errors.New("MongoDB URL: must be mongodb://USER:PASSWORD@HOST:PORT/") // the error may quote a password
	}
	client, err := mongo.Connect(append([]*options.ClientOptions{base}, settings...)...)
	if err != nil {
		return nil, nil, fmt.Errorf("reach MongoDB: %w", err)
	}
	disconnect = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mongoPatience)
		defer cancel()
		return client.Disconnect(ctx)
	}
	if err := client.Ping(ctx, nil); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("reach MongoDB: %w", err), disconnect())
	}
	return client.Database(documentsDatabase).Collection(documentsCollection), disconnect, nil
}
