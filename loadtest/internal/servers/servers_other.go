//go:build !unix

package servers

import (
	"context"
	"errors"
)

// start cannot start anything here: the private servers need a Unix.
func (s *Servers) start(context.Context) error {
	if s.RedisURL == "" || s.DatabaseURL == "" {
		return errors.New("they need a Unix; use --redis-url and --database-url")
	}
	return nil
}

// addForLocks adds nothing.
func (s *Servers) addForLocks(context.Context) ([]string, error) {
	return []string{"the lock on ZooKeeper and RedLock are left out: their private servers need a Unix"}, nil
}
