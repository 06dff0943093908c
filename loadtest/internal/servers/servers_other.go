//go:build !unix

package servers

import (
	"context"
	"errors"
)

// Started has nothing.
type Started struct{}

// start cannot start anything here: the private servers need a Unix.
func (s *Servers) start(context.Context) error {
	if s.RedisURL == "" || s.DatabaseURL == "" {
		return errors.New("they need a Unix; use --redis-url and --database-url")
	}
	return nil
}

// addForLocks adds nothing.
func (s *Servers) addForLocks(_ context.Context, n Needs) (leftOut []string, err error) {
	if n.Others && s.MongoDBURL == "" {
		leftOut = append(leftOut, "the lock on MongoDB is left out: its private server needs a Unix; use --mongodb-url")
	}
	if n.Nodes {
		leftOut = append(leftOut, "RedLock is left out: its private servers need a Unix")
	}
	return leftOut, nil
}
