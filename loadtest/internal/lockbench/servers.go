package lockbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Servers is where the locks are.
type Servers struct {
	RedisURL    string `json:"redis_url"`
	DatabaseURL string `json:"database_url"`

	stops []func() error // not for other processes
}

// openServers starts the servers that no URL was given for.
func openServers(ctx context.Context, given Servers) (Servers, error) {
	s := given
	if err := s.start(ctx); err != nil {
		return Servers{}, errors.Join(fmt.Errorf("start private servers: %w", err), s.stop())
	}
	return s, nil
}

// stop ends what was started.
func (s Servers) stop() error {
	var errs []error
	for _, stop := range slices.Backward(s.stops) {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}
