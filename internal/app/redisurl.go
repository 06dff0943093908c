package app

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// A redisAddress is the place of the locks: one server, the master that Sentinels know, or a cluster. With none of them
// it is a server inside the process.
type redisAddress struct {
	server   *redis.Options
	sentinel *redis.FailoverOptions
	cluster  *redis.ClusterOptions
	tls      *redisTLS // nil: as go-redis has it
}

// The schemes of URLs of several servers. Several HOST:PORT follow, separated by commas; with rediss+… the servers use
// TLS.
const (
	sentinelScheme = "+sentinel://"
	clusterScheme  = "+cluster://"
)

const redLockNodes = 3 // the least number of a RedLock's servers, and the number of embedded ones

var (
	errRedisURL    = errors.New("redis URL: must be redis://HOST:PORT/DB, redis+sentinel://HOST:PORT,…/MASTER, redis+cluster://HOST:PORT,…, the same with rediss, several of the first for redlock, or embedded")
	errSentinelURL = errors.New("redis URL: must be redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER?db=DB, with the name by which the Sentinels know the master")
	errClusterURL  = errors.New("redis URL: must be redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT, without a database: a cluster has one")
)

// redisAddresses reads the Redis URLs of a configuration.
func redisAddresses(c Config) ([]redisAddress, error) {
	ofMany := strings.Contains(c.RedisURL, sentinelScheme) || strings.Contains(c.RedisURL, clusterScheme)
	urls := strings.Split(c.RedisURL, ",")
	switch n := len(urls); {
	case c.RedisURL == Embedded && c.Lock == LockRed:
		return make([]redisAddress, redLockNodes), nil
	case c.RedisURL == Embedded:
		return make([]redisAddress, 1), nil
	case c.Lock == LockRed && ofMany:
		return nil, fmt.Errorf("lock %s: needs servers that do not copy each other: redis://… of each, and no Sentinel or cluster", c.Lock)
	case c.Lock == LockRed && (n < redLockNodes || n%2 == 0):
		return nil, fmt.Errorf("lock %s: needs an odd number of Redis URLs, %d or more with commas between them, and not %d", c.Lock, redLockNodes, n)
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

// redisAddressOf reads one URL. Its errors quote nothing that may be a password.
func redisAddressOf(text string) (redisAddress, error) {
	scheme, rest, found := strings.Cut(text, sentinelScheme)
	if found {
		return sentinelAddress(scheme, rest)
	}
	if scheme, rest, found = strings.Cut(text, clusterScheme); found {
		return clusterAddress(scheme, rest)
	}
	if err := checkURL(text); err != nil {
		return redisAddress{}, fmt.Errorf("redis URL: %w", err)
	}
	u, err := url.Parse(text)
	if err != nil {
		return redisAddress{}, errRedisURL
	}
	files, err := takeRedisTLS(u)
	if err != nil {
		return redisAddress{}, err
	}
	options, err := redis.ParseURL(u.String())
	if err != nil || options.Network != "unix" && !hasPort(options.Addr) {
		return redisAddress{}, wrongRedisURL(err, text, errRedisURL)
	}
	options.Dialer, err = files.over(options.TLSConfig)
	return redisAddress{server: options, tls: files}, err
}

// sentinelAddress reads what follows the scheme of a URL of Sentinels. User and password are for the Redis servers;
// sentinel_username and sentinel_password in the query are for the Sentinels.
func sentinelAddress(scheme, rest string) (redisAddress, error) {
	u, err := manyHosts(scheme, rest)
	if err != nil {
		return redisAddress{}, err
	}
	files, err := takeRedisTLS(u)
	if err != nil {
		return redisAddress{}, err
	}
	master, query := strings.Trim(u.Path, "/"), u.Query()
	if master == "" || strings.Contains(master, "/") {
		return redisAddress{}, errSentinelURL
	}
	query.Set("master_name", master)
	if password, ok := u.User.Password(); ok || u.User != nil {
		query.Set("username", u.User.Username())
		query.Set("password", password)
	}
	u.User = nil
	if query.Has("sentinel_password") {
		u.User = url.UserPassword(query.Get("sentinel_username"), query.Get("sentinel_password"))
	}
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	u.Path, u.RawQuery = "", query.Encode()
	options, err := redis.ParseFailoverURL(u.String())
	if err != nil || !allHavePorts(options.SentinelAddrs) {
		return redisAddress{}, wrongRedisURL(err, rest, errSentinelURL)
	}
	if options.TLSConfig != nil {
		options.TLSConfig.ServerName = "" // each server has its own
	}
	options.Dialer, err = files.over(options.TLSConfig)
	return redisAddress{sentinel: options, tls: files}, err
}

// clusterAddress reads what follows the scheme of a URL of a cluster: some of its nodes.
func clusterAddress(scheme, rest string) (redisAddress, error) {
	u, err := manyHosts(scheme, rest)
	if err != nil {
		return redisAddress{}, err
	}
	if strings.Trim(u.Path, "/") != "" {
		return redisAddress{}, errClusterURL
	}
	files, err := takeRedisTLS(u)
	if err != nil {
		return redisAddress{}, err
	}
	options, err := redis.ParseClusterURL(u.String())
	if err != nil || !allHavePorts(options.Addrs) {
		return redisAddress{}, wrongRedisURL(err, rest, errClusterURL)
	}
	if options.TLSConfig != nil {
		options.TLSConfig.ServerName = "" // each node has its own
	}
	options.Dialer, err = files.over(options.TLSConfig)
	return redisAddress{cluster: options, tls: files}, err
}

// manyHosts makes a URL that go-redis can read: the first host, and the others as addr in the query.
func manyHosts(scheme, rest string) (*url.URL, error) {
	if scheme != "redis" && scheme != "rediss" {
		return nil, errRedisURL
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	user, hosts, found := strings.Cut(rest[:end], "@")
	if !found {
		user, hosts = "", user
	} else {
		user += "@"
	}
	first, others, _ := strings.Cut(hosts, ",")
	text := scheme + "://" + user + first + rest[end:]
	if err := checkURL(text); err != nil {
		return nil, fmt.Errorf("redis URL: %w", err)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errRedisURL
	}
	query := u.Query()
	for other := range strings.SplitSeq(others, ",") {
		if other == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(other); err != nil {
			return nil, errRedisURL
		}
		query.Add("addr", other)
	}
	u.RawQuery = query.Encode()
	return u, nil
}

// wrongRedisURL names the parameter of a URL that go-redis does not know, or says what a URL must be. It does not quote what
// may be a part of a password.
func wrongRedisURL(err error, text string, otherwise error) error {
	if err == nil {
		return otherwise
	}
	_, list, _ := strings.Cut(err.Error(), "unexpected option: ")
	unknown := strings.Split(list, ", ")
	_, query, _ := strings.Cut(text, "?")
	afterPassword := false
	for pair := range strings.SplitSeq(query, "&") {
		encoded, _, _ := strings.Cut(pair, "=")
		name, unescaped := url.QueryUnescape(encoded)
		switch {
		case unescaped != nil:
		case !slices.Contains(unknown, name):
			afterPassword = strings.HasSuffix(name, "password")
		case strings.Contains(query, "@"):
			return fmt.Errorf("redis URL: %w", errReserved)
		case afterPassword:
			return errors.New("redis URL: the parameter after a password is unknown; if it belongs to the password, write & as %26")
		default:
			return fmt.Errorf("redis URL: unknown parameter %q", name)
		}
	}
	return otherwise
}

func allHavePorts(addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(address string) bool { return !hasPort(address) })
}

// String names the servers, without secrets.
func (a redisAddress) String() string {
	switch {
	case a.sentinel != nil:
		return strings.Join(a.sentinel.SentinelAddrs, ",") + "/" + a.sentinel.MasterName
	case a.cluster != nil:
		return strings.Join(a.cluster.Addrs, ",")
	case a.server != nil:
		return a.server.Addr
	default:
		return Embedded
	}
}

// db returns the number of the Redis database.
func (a redisAddress) db() int {
	switch {
	case a.sentinel != nil:
		return a.sentinel.DB
	case a.server != nil:
		return a.server.DB
	default:
		return 0
	}
}
