//go:build !unix

package servers

import (
	"context"
	"errors"
)

// Started has nothing.
type Started struct{}

// start cannot start anything here: the private servers need a Unix.
func (s *Servers) start(_ context.Context, n Needs) error {
	if s.RedisURL == "" || s.DatabaseURL == "" {
		return errors.New("they need a Unix; use --redis-url and --database-url")
	}
	if n.Nodes || n.Others {
		s.LeftOut = []string{"locks whose private servers need a Unix are left out: RedLock, ZooKeeper, and MongoDB without --mongodb-url"}
	}
	return nil
}

// Stoppable is nil: no server was started.
func (s *Servers) Stoppable() Stoppable { return nil }
