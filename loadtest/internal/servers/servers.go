// Package servers opens the servers of a scenario: those that the user names, or a Redis and a PostgreSQL that are started for the
// run, and sync to the disk as real ones do.
package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"inventory/loadtest/internal/report"
)

// URLs say where the servers are.
type URLs struct {
	RedisURL    string   `json:"redis_url"`
	DatabaseURL string   `json:"database_url"`
	ZooKeeper   string   `json:"zookeeper,omitempty"`   // host:port; empty where there is none
	MongoDBURL  string   `json:"mongodb_url,omitempty"` // empty where there is none
	NodeURLs    []string `json:"node_urls,omitempty"`   // of independent Redis servers, for locks that need several
}

// Servers are servers that answer.
type Servers struct {
	URLs
	PostmasterPID int // of the PostgreSQL that was started; 0: none
	RedisPID      int // of the Redis that was started; 0: none
	About         report.Environment
	Warnings      []string // why figures may not be what they seem
	LeftOut       []string // locks without their servers
	Started
	Closers // of what was started
}

// Stoppable is a server that can be stopped for a while, and goes on.
type Stoppable interface {
	Pause() error
	Resume() error
}

// Needs are what a measurement needs of its servers.
type Needs struct {
	Durable   bool   // a PostgreSQL that syncs its commits
	Nodes     bool   // independent Redis servers, for locks that need several
	Others    bool   // ZooKeeper and MongoDB, where they are installed
	Database  string // begins the name of an empty database; "": none is made
	Generator string // what sends the load
}

// Prepare opens servers for a measurement, and checks them and the machine.
func Prepare(ctx context.Context, given URLs, n Needs) (s *Servers, err error) {
	machine, quiet, err := lookAround(ctx)
	if err != nil {
		return nil, err
	}
	if s, err = Open(ctx, given, n); err != nil {
		return nil, err
	}
	s.About, err = s.Environment(ctx, n.Durable)
	if err == nil && n.Database != "" {
		err = s.MakeDatabase(ctx, n.Database)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.About.Add("requests sent by", n.Generator)
	s.About.Add("measurement", machine)
	if !quiet {
		s.Warnings = append(s.Warnings, machine)
	}
	if on := s.About.Of("file system"); on == "tmpfs" || on == "ramfs" {
		s.Warnings = append(s.Warnings, "PostgreSQL's files are in memory ("+on+"), so its syncs cost nothing: set TMPDIR to a folder on a disk")
	}
	return s, nil
}

// Open starts the servers that no URL was given for.
func Open(ctx context.Context, given URLs, n Needs) (*Servers, error) {
	s := &Servers{URLs: given}
	if err := s.start(ctx, n); err != nil {
		return nil, errors.Join(fmt.Errorf("start private servers: %w", err), s.Close())
	}
	return s, nil
}

// MakeDatabase makes an empty database, which DatabaseURL names then.
func (s *Servers) MakeDatabase(ctx context.Context, prefix string) (err error) {
	s.DatabaseURL, err = CreateDatabase(ctx, s.DatabaseURL, prefix, s.PostmasterPID == 0, &s.Closers)
	return err
}

// Closers undo what was done, the last first.
type Closers []func() error

// OnClose adds what undoes something.
func (c *Closers) OnClose(undo func() error) { *c = append(*c, undo) }

// Close undoes all of it, once.
func (c *Closers) Close() error {
	var errs []error
	for _, undo := range slices.Backward(*c) {
		errs = append(errs, undo())
	}
	*c = nil
	return errors.Join(errs...)
}

// Folder makes a temporary folder, which Close removes.
func (c *Closers) Folder() (string, error) {
	folder, err := os.MkdirTemp("", "inventory-loadtest-")
	if err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	c.OnClose(func() error { return os.RemoveAll(folder) })
	return folder, nil
}

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
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
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
