package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"inventory/internal/access"
	"inventory/internal/api"
	"inventory/internal/stock"
)

// Lock kinds that segments can be locked with.
const (
	LockReentrant = "reentrant" // a Mutex; the fastest, and processes take turns
	LockFair      = "fair"      // strictly first come, first served over all processes
	LockRed       = "redlock"   // on most of several independent servers, so that one may fail
	LockNone      = "none"      // the guard of the database alone
)

// Config is the configuration of a service. The zero value of each field but DrainTimeout is usable.
type Config struct {
	Listen      string // public address; "" is 127.0.0.1 on a free port
	AdminListen string // admin address; "" is 127.0.0.1 on a free port
	// MetricsListen is the address of a listener with metrics, health and readiness only; "" is none. The admin
	// listener has them too.
	MetricsListen string
	// DatabaseURL is postgres://…, citus://… of a coordinator, or sqlite:FILE; "" is sqlite:inventory.db in the working directory.
	DatabaseURL string
	// DirectURL is postgres://… of the same database, past a pooler: for migrations, and for notifications of restocks, which no
	// pooler delivers that shares connections between transactions. "": DatabaseURL.
	DirectURL string
	// RedisURL is redis://… of one server, redis+sentinel://… or redis+cluster://…, or the same with rediss; for LockRed an
	// odd number of servers, three or more, separated by commas. "" or "embedded" is one server inside the process, or
	// three for LockRed. Parameters name the files of TLS.
	RedisURL string
	// RedisDial connects to the embedded Redis that several services of this process share: address n is "embedded-n". Nil:
	// each has its own.
	RedisDial func(ctx context.Context, network, address string) (net.Conn, error)
	// Store is a store that several services of this process share, of the database that DatabaseURL names; the service
	// does not close it. Nil: it opens its own.
	Store  stock.Store
	Lock   string        // one of the kinds; "" is LockReentrant
	Name   string        // what the owners of its locks begin with, so that people know the process; "": none
	Access access.Config // who may call; the zero value lets anybody in
	// AllowAnonymous permits a public address beyond loopback without Access.
	AllowAnonymous bool
	// AdminAllowAnonymous permits an admin address beyond loopback, although that listener asks for no key.
	AdminAllowAnonymous bool
	// MaxReserveFor is the longest reservation if the SKU's terms set none; 0 is DefaultMaxReserveFor.
	// Without Access.TokenRights.MaxQuantity a token's order has at most DefaultTokenQuantity units of a SKU.
	MaxReserveFor time.Duration
	RateLimit     float64 // requests per second of each caller; 0: no limit
	RateBurst     int     // requests that a caller may send at once; 0: those of a second
	// AddressRateLimit limits each address, for callers without a credential or with a bad one; 0: RateLimit.
	AddressRateLimit float64
	TrustProxy       []string      // networks of proxies that are believed about the addresses of callers
	AllowedHosts     []string      // further host names that listeners on loopback accept
	TLSCert          string        // PEM file of the public listener's certificate; "": no TLS
	TLSKey           string        // PEM file of the certificate's key
	MaxConnections   int           // of the public listener; 0: 10,000
	AnswerWithin     time.Duration // from when a request was read until nothing is written for it; 0: 2 s
	DrainTimeout     time.Duration // for requests in flight when the service stops
	// ShutdownDelay is how long a service that stops goes on serving while it is not ready, so that balancers stop
	// sending; nil: 5 s if it listens beyond loopback, otherwise none.
	ShutdownDelay *time.Duration
	BatchLimit    int          // orders that one write carries out at most; 0: the fastest number
	Logger        *slog.Logger // nil: none
}

// Embedded is the Redis URL of the server inside the process.
const Embedded = "embedded"

// The bounds of orders where a SKU's terms have none.
const (
	DefaultMaxReserveFor = time.Hour // longer than a checkout takes
	DefaultTokenQuantity = 10        // units: more than one person buys at once
)

// defaultShutdownDelay is longer than a balancer needs to notice that a service is not ready.
const defaultShutdownDelay = 5 * time.Second

const defaultDatabaseURL = "sqlite:inventory.db"

func (c Config) withDefaults() Config {
	c.Listen, c.AdminListen = cmp.Or(c.Listen, "127.0.0.1:0"), cmp.Or(c.AdminListen, "127.0.0.1:0")
	c.DatabaseURL, c.RedisURL = cmp.Or(c.DatabaseURL, defaultDatabaseURL), cmp.Or(c.RedisURL, Embedded)
	c.Lock = cmp.Or(c.Lock, LockReentrant)
	c.MaxConnections = cmp.Or(c.MaxConnections, defaultMaxConnections)
	c.MaxReserveFor = cmp.Or(c.MaxReserveFor, DefaultMaxReserveFor)
	c.Access.TokenRights.MaxQuantity = cmp.Or(c.Access.TokenRights.MaxQuantity, DefaultTokenQuantity)
	if c.ShutdownDelay == nil {
		c.ShutdownDelay = new(defaultShutdownDelay)
		if isLoopback(c.Listen) { // no balancer is involved
			*c.ShutdownDelay = 0
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// ConfigError means that a configuration cannot work, whatever the state of the servers.
type ConfigError struct{ error }

// Unwrap returns the reason.
func (e ConfigError) Unwrap() error { return e.error }

func (c Config) check() error {
	kinds := []string{LockReentrant, LockFair, LockRed, LockNone}
	if !slices.Contains(kinds, c.Lock) {
		return fmt.Errorf("lock %q: must be one of %s", c.Lock, strings.Join(kinds, ", "))
	}
	if c.MaxConnections < 1 {
		return errors.New("connections at most (--max-connections): must be 1 or more")
	}
	if !stock.CheckReserve(c.MaxReserveFor) {
		return fmt.Errorf("longest reservation (--max-reserve-for): must be %s to %vh", stock.MinReserve, stock.MaxReserve.Hours())
	}
	if most := c.Access.TokenRights.MaxQuantity; most < 1 || most > stock.MaxQuantity {
		return fmt.Errorf("quantity of tokens (--tokens-max-quantity): must be 1 to %d", stock.MaxQuantity)
	}
	if _, err := redisAddresses(c); err != nil {
		return err
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("TLS: needs both a certificate and its key: --tls-cert and --tls-key")
	}
	if err := checkAddress(c.Listen, c.Access.Configured() || c.AllowAnonymous, "--allow-anonymous"); err != nil {
		return err
	}
	for _, host := range c.AllowedHosts {
		if !api.IsHost(host) {
			return fmt.Errorf("allowed host %q: must be a name or an address, without blanks or a port", host)
		}
	}
	if c.MetricsListen != "" && !hasPort(c.MetricsListen) {
		return fmt.Errorf("metrics address %q: must be HOST:PORT", c.MetricsListen)
	}
	return checkAddress(c.AdminListen, c.AdminAllowAnonymous, "--admin-allow-anonymous")
}
