package openloop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// The defaults of a Config.
const (
	DefaultConnections = 128
	DefaultMaxLag      = time.Second
	DefaultPatience    = 10 * time.Second
)

// Config says how requests are sent. The zero value of each field but URLs is usable.
type Config struct {
	URLs        []string      // base URLs of services that share a database; connections are spread over them
	Key         string        // API key; "": none is shown
	Connections int           // 0: DefaultConnections
	MaxLag      time.Duration // a request that would be sent later after its time is dropped; 0: DefaultMaxLag
	Patience    time.Duration // for an answer, from when a request was sent; 0: DefaultPatience
}

func (c Config) withDefaults() Config {
	if c.Connections == 0 {
		c.Connections = DefaultConnections
	}
	if c.MaxLag == 0 {
		c.MaxLag = DefaultMaxLag
	}
	if c.Patience == 0 {
		c.Patience = DefaultPatience
	}
	return c
}

// Sender has connections to services. It sends one load at a time.
type Sender struct {
	config Config
	lines  []line
}

// Open connects. Whoever opens a sender closes it.
func Open(ctx context.Context, c Config) (*Sender, error) {
	if len(c.URLs) == 0 {
		return nil, errors.New("no URL of a service")
	}
	s := &Sender{config: c.withDefaults()}
	var addresses []*address
	for _, base := range c.URLs {
		a, err := newAddress(base, c.Key)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, &a)
	}
	connecting, ctx := errgroup.WithContext(ctx)
	connecting.SetLimit(atOnce)
	for i := range s.config.Connections {
		w := &wire{to: addresses[i%len(addresses)]}
		s.lines = append(s.lines, w)
		connecting.Go(func() error { return w.connect(ctx) })
	}
	if err := connecting.Wait(); err != nil {
		s.Close()
		return nil, fmt.Errorf("open %d connections: %w", s.config.Connections, err)
	}
	return s, nil
}

// atOnce is how many connections are opened at once: more than a listener's backlog would be turned away.
const atOnce = 32

// Connections is how many there are.
func (s *Sender) Connections() int { return len(s.lines) }

// Close ends the connections.
func (s *Sender) Close() {
	for _, l := range s.lines {
		l.close()
	}
	s.lines = nil
}
