// Package servers opens the servers of a scenario: those that the user names, or a Redis and a PostgreSQL that are started for the
// run, and sync to the disk as real ones do.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

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
