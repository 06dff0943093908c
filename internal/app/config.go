package app

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Lock kinds that segments can be locked with.
const (
	LockReentrant = "reentrant" // a Mutex; the fastest, and processes take turns
	LockFair      = "fair"      // strictly first come, first served over all processes
	LockRed       = "redlock"   // on most of several independent servers, for when one must not be able to fail
	LockNone      = "none"      // the guard of the database alone
)

// Config is the configuration of a service. The zero value of each field but DrainTimeout is usable.
type Config struct {
	Listen      string // public address; "" is 127.0.0.1 on a free port
	AdminListen string // admin address; "" is 127.0.0.1 on a free port
	// DatabaseURL is postgres://… or sqlite:FILE; "" is sqlite:inventory.db in the working directory.
	DatabaseURL string
	// RedisURL is redis://… or rediss://…; for LockRed an odd number of them, three or more, with commas in between.
	// "" or "embedded" is one inside the process, or three for LockRed.
	RedisURL string
	Lock     string // one of the kinds; "" is LockReentrant
	// AllowAnonymous permits addresses other than loopback although nobody has to show a key.
	AllowAnonymous bool
	DrainTimeout   time.Duration // for requests in flight when the service stops
	Logger         *slog.Logger  // nil: none
}

// Embedded is the Redis URL of the one inside the process.
const Embedded = "embedded"

const defaultDatabaseURL = "sqlite:inventory.db"

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value   *string
		instead string
	}{
		{&c.Listen, "127.0.0.1:0"},
		{&c.AdminListen, "127.0.0.1:0"},
		{&c.DatabaseURL, defaultDatabaseURL},
		{&c.RedisURL, Embedded},
		{&c.Lock, LockReentrant},
	} {
		if *d.value == "" {
			*d.value = d.instead
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) check() error {
	kinds := []string{LockReentrant, LockFair, LockRed, LockNone}
	if !slices.Contains(kinds, c.Lock) {
		return fmt.Errorf("lock %q: must be one of %s", c.Lock, strings.Join(kinds, ", "))
	}
	if _, err := redisOptions(c); err != nil {
		return err
	}
	for _, address := range []string{c.Listen, c.AdminListen} {
		if err := c.checkAddress(address); err != nil {
			return err
		}
	}
	return nil
}

// checkAddress refuses to listen where strangers could reach a service that asks nobody for a key.
func (c Config) checkAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: must be HOST:PORT", address)
	}
	if c.AllowAnonymous || host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen address %q is not loopback, and anybody who reaches it could sell: "+
		"set --allow-anonymous if that is meant", address)
}
