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

// Config is the configuration of a service. The zero value of each field but DrainTimeout is usable. Its fields are flags of
// inventory serve, whose help says what they mean; a zero value means the flag's default, unless another is named here.
type Config struct {
	// DatabaseURL is postgres://…, citus://… of a coordinator, or sqlite:FILE; "" is sqlite:inventory.db in the working directory.
	DatabaseURL string `kong:"-"`
	// DirectURL is postgres://… of the same database, past a pooler: for migrations, and for notifications of restocks, which no
	// pooler delivers that shares connections between transactions. "": DatabaseURL.
	DirectURL string `kong:"-"`
	// RedisURL is redis://… of one server, redis+sentinel://… or redis+cluster://…, or the same with rediss; for LockRed an
	// odd number of servers, three or more, separated by commas. "" or "embedded" is one server inside the process, or
	// three for LockRed. Parameters name the files of TLS.
	RedisURL string `kong:"-"`
	Lock     string `kong:"-"` // one of the kinds; "" is LockReentrant
	// RedisDial connects to the embedded Redis that several services of this process share: address n is "embedded-n". Nil:
	// each has its own.
	RedisDial func(ctx context.Context, network, address string) (net.Conn, error) `kong:"-"`
	// Store is a store that several services of this process share, of the database that DatabaseURL names; the service
	// does not close it. Nil: it opens its own.
	Store      stock.Store  `kong:"-"`
	Name       string       `kong:"-"` // what the owners of its locks begin with, so that people know the process; "": none
	BatchLimit int          `kong:"-"` // orders that one write carries out at most; 0: the fastest number
	Logger     *slog.Logger `kong:"-"` // nil: none

	// Listen and AdminListen that are "" are 127.0.0.1 on a free port.
	Listen         string         `group:"listeners" help:"Address of the public API, HOST:PORT." default:"127.0.0.1:8080"`
	AdminListen    string         `group:"listeners" help:"Address of metrics, health and profiles, HOST:PORT." default:"127.0.0.1:8081"`
	MetricsListen  string         `group:"listeners" help:"Address of metrics and health only, HOST:PORT, for Prometheus and probes on other machines. Default: only the admin listener has them." placeholder:"HOST:PORT"`
	MaxConnections int            `group:"limits" help:"Most connections to the public API. A further one replaces the one whose caller the service has waited for longest. Default: 10000." placeholder:"N" default:"10000"`
	AnswerWithin   time.Duration  `group:"stopping" help:"Time from when a request was read until nothing is written for it, such as 2s. A caller without an answer by then may take its next answer as final." default:"2s"`
	ShutdownDelay  *time.Duration `group:"stopping" help:"Time for which a stopping service goes on serving while /readyz answers 503, so that balancers stop sending, such as 5s. Default: 5s, and 0s if --listen is loopback." placeholder:"DURATION"`
	DrainTimeout   time.Duration  `group:"stopping" help:"Time for requests in flight when the service stops, such as 10s." default:"10s"`
	// The zero Access lets anybody in. Without a MaxQuantity of its tokens' rights, it is DefaultTokenQuantity.
	Access              access.Config `embed:""`
	MaxReserveFor       time.Duration `group:"limits" help:"Longest reservation of a SKU without max_reserve_for, 1s to 720h." default:"1h"`
	AllowAnonymous      bool          `group:"keys" help:"Permit a public address beyond loopback without --api-keys and --jwt-key. The service then asks for no key."`
	AdminAllowAnonymous bool          `group:"keys" help:"Permit an admin address beyond loopback. The admin listener asks for no key, and profiles slow the service down: for metrics and health only there is --metrics-listen."`
	RateLimit           float64       `group:"limits" help:"Requests per second of each key, of each buyer with a token, and of each address without either. 0: no limit." default:"0"`
	RateBurst           int           `group:"limits" help:"Requests that each may send at once under --rate-limit. 0: the requests of a second." default:"0"`
	AddressRateLimit    float64       `group:"limits" help:"Requests per second of each address without a valid key or token, or to unknown paths; beyond it, tokens from the address are refused unread. Behind a proxy all callers have its address, unless --trust-proxy names it. Default: --rate-limit." placeholder:"NUMBER"`
	TrustProxy          []string      `group:"limits" name:"trust-proxy" help:"Networks of proxies, such as 10.0.0.0/8, whose X-Forwarded-For or Forwarded header names the address of a caller. Each must set one of the two. Default: none." placeholder:"CIDR"`
	AllowedHosts        []string      `group:"keys" help:"Host names, in addition to localhost and loopback addresses, that a listener on loopback accepts if it asks for no key: those that a proxy on this machine passes on." placeholder:"NAME"`
	ForgetKey           string        `group:"keys" help:"File with the secret by which buyers were forgotten: see inventory forget. Their limits go on." placeholder:"FILE"`
	TLSCert             string        `group:"keys" name:"tls-cert" help:"PEM file of the public listener's certificate and its chain. SIGHUP makes the service read it again. Default: no TLS." placeholder:"FILE"`
	TLSKey              string        `group:"keys" name:"tls-key" help:"PEM file of the certificate's private key." placeholder:"FILE"`
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
	if c.MetricsListen != "" && lacksPort(c.MetricsListen) {
		return fmt.Errorf("metrics address %q: must be HOST:PORT, with a port of 0 to 65535", c.MetricsListen)
	}
	return checkAddress(c.AdminListen, c.AdminAllowAnonymous, "--admin-allow-anonymous")
}
