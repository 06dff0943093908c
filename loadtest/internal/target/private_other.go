//go:build !unix

package target

import (
	"context"
	"errors"
)

// startServers cannot start anything here: the private servers need a Unix.
func (t *Target) startServers(context.Context) (databaseURL, redisURL string, err error) {
	return "", "", errors.New("--private-servers works on Unix alone; use --database-url and --redis-url")
}
