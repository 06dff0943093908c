package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
)

// A redisAddress is the place of the locks: one server, the master that Sentinels know, or a cluster.
type redisAddress struct {
	options *redis.UniversalOptions // nil: a server inside the process
	tls     *tlsFiles               // nil: as go-redis has it
}

const redLockNodes = 3 // the least number of a RedLock's servers, and the number of embedded ones

// errReserved replaces the errors of parsers, which may quote what belongs to a password.
var errReserved = errors.New("in a name or password write each character that means something in a URL as % and two digits, " +
	"such as %2F for /, %3F for ?, %23 for #, %40 for @, %26 for &, %25 for %, %2C for a comma")

var errRedisURL = fmt.Errorf("redis URL: must be redis://USER:PASSWORD@HOST:PORT/DB, redis+sentinel://HOST:PORT,HOST:PORT/MASTER?db=DB, "+
	"redis+cluster://HOST:PORT,HOST:PORT, the same with rediss, or embedded, with parameters of OPERATIONS.md or of go-redis; %w", errReserved)

// redisAddresses reads the Redis URLs of a configuration.
func redisAddresses(c Config) ([]redisAddress, error) {
	ofMany := strings.Contains(c.RedisURL, "+sentinel://") || strings.Contains(c.RedisURL, "+cluster://")
	urls := strings.Split(c.RedisURL, ",")
	switch n := len(urls); {
	case c.RedisURL == Embedded && c.Lock == LockRed:
		return make([]redisAddress, redLockNodes), nil
	case c.RedisURL == Embedded:
		return make([]redisAddress, 1), nil
	case c.Lock == LockRed && (ofMany || n < redLockNodes || n%2 == 0):
		return nil, fmt.Errorf("lock %s: needs an odd number of Redis URLs, %d or more with commas between them, of servers that do not copy each other: "+
			"no Sentinel or cluster", c.Lock, redLockNodes)
	case ofMany:
		urls = []string{c.RedisURL}
	case c.Lock != LockRed && n > 1:
		return nil, fmt.Errorf("lock %s: needs one Redis URL; several are for lock %s", c.Lock, LockRed)
	}
	var all []redisAddress
	for _, text := range urls {
		address, err := redisAddressOf(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other redisAddress) bool { return other.String() == address.String() }) {
			return nil, fmt.Errorf("redis URL: %s is named twice; the servers of a %s must be different ones", address, LockRed)
		}
		all = append(all, address)
	}
	return all, nil
}

// usedRedis returns the Redis servers that a service of the configuration connects to.
func (c Config) usedRedis() ([]redisAddress, error) {
	if c.Lock == LockNone && c.RedisDial == nil { // without locks, a shared Redis carries events
		return nil, nil
	}
	return redisAddresses(c)
}

// redisAddressOf reads one URL. It takes out of it what go-redis does not know of one server.
func redisAddressOf(text string) (redisAddress, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	scheme, kind, several := strings.Cut(scheme, "+")
	var others []string
	if several {
		rest, others = takeOtherHosts(rest)
	}
	u, err := parseURL(scheme + "://" + rest)
	if err != nil {
		return redisAddress{}, errRedisURL
	}
	path, query, right := strings.Trim(u.Path, "/"), u.Query(), !slices.ContainsFunc(others, lacksPort)
	take := func(name string) string {
		right = right && (!query.Has(name) || query.Get(name) != "")
		defer query.Del(name)
		return query.Get(name)
	}
	files := &tlsFiles{of: "redis URL", ca: take("tls_ca"), cert: take("tls_cert"), key: take("tls_key"), serverName: take("tls_server_name")}
	many := &redis.UniversalOptions{IsClusterMode: kind == "cluster"}
	switch kind {
	case "":
	case "sentinel": // user and password are for the Redis servers; those in the query are for the Sentinels
		many.MasterName, u.Path = path, ""
		many.SentinelUsername, many.SentinelPassword = take("sentinel_username"), take("sentinel_password")
		right = right && path != "" && !strings.Contains(path, "/")
	case "cluster": // it has one database
		right = right && path == "" && !query.Has("db")
	default:
		right = false
	}
	u.RawQuery = query.Encode()
	one, err := redis.ParseURL(u.String())
	if err != nil || !right || one.Network != "unix" && lacksPort(one.Addr) || one.PoolSize < 0 ||
		max(one.PoolSize, one.MinIdleConns, one.MaxIdleConns, one.MaxActiveConns, one.PipelinePoolSize) > math.MaxInt32 {
		return redisAddress{}, errRedisURL
	}
	if several && one.TLSConfig != nil {
		one.TLSConfig.ServerName = "" // each server has its own
	}
	many.Addrs, many.TLSConfig = append([]string{one.Addr}, others...), one.TLSConfig
	many.DB, many.Username, many.Password, many.ClientName, many.Protocol = one.DB, one.Username, one.Password, one.ClientName, one.Protocol
	many.PoolFIFO, many.PoolSize, many.PoolTimeout, many.MaxConcurrentDials = one.PoolFIFO, one.PoolSize, one.PoolTimeout, one.MaxConcurrentDials
	many.MinIdleConns, many.MaxIdleConns, many.MaxActiveConns = one.MinIdleConns, one.MaxIdleConns, one.MaxActiveConns
	many.ConnMaxIdleTime, many.ConnMaxLifetime, many.ConnMaxLifetimeJitter = one.ConnMaxIdleTime, one.ConnMaxLifetime, one.ConnMaxLifetimeJitter
	many.PipelinePoolSize = one.PipelinePoolSize
	many.PipelineReadBufferSize, many.PipelineWriteBufferSize = one.PipelineReadBufferSize, one.PipelineWriteBufferSize
	if files.ca+files.cert+files.key+files.serverName == "" {
		return redisAddress{options: many}, nil
	}
	return redisAddress{many, files}, files.over(many)
}

// takeOtherHosts takes all hosts but the first out of what follows the scheme of a URL, so that it can be parsed.
func takeOtherHosts(rest string) (ofOne string, others []string) {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	begin := strings.Index(rest[:end], "@") + 1
	hosts := strings.Split(strings.TrimRight(rest[begin:end], ","), ",")
	return rest[:begin] + hosts[0] + rest[end:], hosts[1:]
}

// String names the servers, without secrets.
func (a redisAddress) String() string {
	switch {
	case a.options == nil:
		return Embedded
	case a.options.MasterName != "":
		return strings.Join(a.options.Addrs, ",") + "/" + a.options.MasterName
	default:
		return strings.Join(a.options.Addrs, ",")
	}
}

// tlsFiles is what one end of TLS trusts and shows, in PEM files that may be read again. Those of a Redis URL are for all its
// servers, Sentinels too. Nil has no files.
type tlsFiles struct {
	of            string                     // what errors begin with
	ca, cert, key string                     // "": none
	serverName    string                     // "": that of each server
	base          *tls.Config                // what else there is to say
	current       atomic.Pointer[tls.Config] // for new connections
}

// reload reads the files, for later connections. After an error what is in use stays as it was.
func (t *tlsFiles) reload() error {
	if t == nil {
		return nil
	}
	config := t.base.Clone()
	if t.ca != "" {
		text, err := os.ReadFile(t.ca)
		if config.RootCAs = x509.NewCertPool(); err == nil && !config.RootCAs.AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s has no certificates in PEM", t.ca)
		}
		if err != nil {
			return fmt.Errorf("%s: authorities: %w", t.of, err)
		}
	}
	if t.cert != "" || t.key != "" {
		own, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return fmt.Errorf("%s: certificate %q and key %q: %w", t.of, t.cert, t.key, err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	t.current.Store(config)
	return nil
}

// server returns the configuration of a listener, which net/http adds its protocols to.
func (t *tlsFiles) server() *tls.Config {
	config := t.base.Clone()
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &t.current.Load().Certificates[0], nil }
	return config
}

// over makes a client connect with TLS as the rest of a URL says, and with these files.
func (t *tlsFiles) over(o *redis.UniversalOptions) error {
	if o.TLSConfig == nil {
		return errors.New("redis URL: files and names of TLS need rediss://")
	}
	t.base, o.Dialer = o.TLSConfig.Clone(), t.dial
	t.base.MinVersion = tls.VersionTLS12
	t.base.ServerName = cmp.Or(t.serverName, t.base.ServerName)
	return nil
}

// dial connects to a server. Its name is that of the URL, or its address if the client has found it itself.
func (t *tlsFiles) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return redis.NewDialer(&redis.Options{DialTimeout: redisDial, TLSConfig: t.current.Load()})(ctx, network, address)
}

// parseURL refuses a URL that cannot be parsed, and one whose password was not parsed as such: another @ follows the
// server's name. The error quotes nothing.
func parseURL(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil || strings.Contains(text, "@") && parsed.User == nil {
		return nil, fmt.Errorf("it is not a valid URL: %w", errReserved)
	}
	return parsed, nil
}

// checkPostgresURL refuses a URL that can never reach a server. It accepts a URL that names a missing file, because the
// file may appear before the connection needs it.
func checkPostgresURL(text string) error {
	scheme, rest, _ := strings.Cut(text, "://")
	ofOne, _ := takeOtherHosts(rest) // of which one in brackets would be no URL
	if _, err := parseURL(scheme + "://" + ofOne); err != nil {
		return err
	}
	config, err := pgxpool.ParseConfig(text)
	if _, file := errors.AsType[*fs.PathError](err); file {
		return nil
	}
	if err == nil && config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return errors.New("default_query_exec_mode=simple_protocol tells the server no types of parameters: take exec")
	}
	return err // pgx keeps the password out of it
}

// postgresHosts names the servers and the database of a URL that has been checked, without secrets.
func postgresHosts(databaseURL string) string {
	_, rest, _ := strings.Cut(databaseURL, "://")
	rest, _, _ = strings.Cut(rest, "?")
	return rest[strings.LastIndex(rest, "@")+1:]
}
