package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

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

var (
	errRedisURL    = errors.New("redis URL: must be redis://HOST:PORT/DB, redis+sentinel://HOST:PORT,…/MASTER, redis+cluster://HOST:PORT,…, the same with rediss, several of the first for redlock, or embedded")
	errSentinelURL = errors.New("redis URL: must be redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER?db=DB, with the name by which the Sentinels know the master")
	errClusterURL  = errors.New("redis URL: must be redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT, without a database: a cluster has one")
	errPoolSize    = errors.New("redis URL: pool_size, min_idle_conns, max_idle_conns, max_active_conns and pipeline_pool_size must be numbers of connections")
)

// redisAddresses reads the Redis URLs of a configuration.
func redisAddresses(c Config) ([]redisAddress, error) {
	ofMany := strings.Contains(c.RedisURL, "+sentinel://") || strings.Contains(c.RedisURL, "+cluster://")
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
	scheme, rest, _ := strings.Cut(text, "://")
	scheme, kind, several := strings.Cut(scheme, "+")
	var others []string
	if several {
		if scheme != "redis" && scheme != "rediss" {
			return redisAddress{}, errRedisURL
		}
		rest, others = takeOtherHosts(rest)
		if slices.ContainsFunc(others, func(other string) bool { return !hasPort(other) }) {
			return redisAddress{}, errRedisURL
		}
	}
	u, err := parseURL(scheme + "://" + rest)
	if err != nil {
		return redisAddress{}, fmt.Errorf("redis URL: %w", err)
	}
	files, err := takeRedisTLS(u)
	if err != nil {
		return redisAddress{}, err
	}
	path, query := strings.Trim(u.Path, "/"), u.Query()
	many, wrong := &redis.UniversalOptions{}, errRedisURL
	switch kind {
	case "":
	case "sentinel":
		// User and password are for the Redis servers; those in the query are for the Sentinels.
		many.MasterName, wrong = path, errSentinelURL
		many.SentinelUsername, many.SentinelPassword = query.Get("sentinel_username"), query.Get("sentinel_password")
		query.Del("sentinel_username")
		query.Del("sentinel_password")
		u.Path, u.RawQuery = "", query.Encode()
		if path == "" || strings.Contains(path, "/") {
			return redisAddress{}, wrong
		}
	case "cluster":
		many.IsClusterMode, wrong = true, errClusterURL
		if path != "" || query.Has("db") {
			return redisAddress{}, wrong
		}
	default:
		return redisAddress{}, wrong
	}
	one, err := redis.ParseURL(u.String())
	if err != nil || one.Network != "unix" && !hasPort(one.Addr) {
		return redisAddress{}, wrongRedisURL(err, text, wrong)
	}
	if one.PoolSize < 0 || max(one.PoolSize, one.MinIdleConns, one.MaxIdleConns, one.MaxActiveConns, one.PipelinePoolSize) > math.MaxInt32 {
		return redisAddress{}, errPoolSize
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
	if files != nil {
		err = files.over(many)
	}
	return redisAddress{many, files}, err
}

// takeOtherHosts takes all hosts but the first out of what follows the scheme of a URL, so that it can be parsed.
func takeOtherHosts(rest string) (ofOne string, others []string) {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	begin := strings.Index(rest[:end], "@") + 1
	first, list, _ := strings.Cut(rest[begin:end], ",")
	for other := range strings.SplitSeq(list, ",") {
		if other != "" {
			others = append(others, other)
		}
	}
	return rest[:begin] + first + rest[end:], others
}

// wrongRedisURL names the parameter of a URL that go-redis does not know, or says what a URL must be. It does not quote what
// may belong to a password.
func wrongRedisURL(err error, text string, otherwise error) error {
	if err == nil {
		return otherwise
	}
	_, list, unexpected := strings.Cut(err.Error(), "unexpected option: ")
	if !unexpected {
		return otherwise
	}
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
		trusted, err := readAuthorities(t.ca)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", t.of, redisCA, err)
		}
		config.RootCAs = trusted
	}
	if t.cert != "" {
		own, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return fmt.Errorf("%s: certificate %s and key %s: %w", t.of, t.cert, t.key, err)
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

// dial connects to a server. Its name is that of the URL, or its address if the client has found it itself.
func (t *tlsFiles) dial(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: redisDial, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3, // as go-redis has them
	}}
	return (&tls.Dialer{NetDialer: plain, Config: t.current.Load()}).DialContext(ctx, network, address)
}

// The parameters of a Redis URL for TLS.
const (
	redisCA         = "tls_ca"
	redisCert       = "tls_cert"
	redisKey        = "tls_key"
	redisServerName = "tls_server_name"
)

// takeRedisTLS removes the parameters for TLS from a Redis URL; nil means that there are none.
func takeRedisTLS(u *url.URL) (*tlsFiles, error) {
	t, query := &tlsFiles{of: "redis URL"}, u.Query()
	found := false
	for name, value := range map[string]*string{redisCA: &t.ca, redisCert: &t.cert, redisKey: &t.key, redisServerName: &t.serverName} {
		if !query.Has(name) {
			continue
		}
		if values := query[name]; len(values) > 1 || values[0] == "" {
			return nil, fmt.Errorf("redis URL: %s must have one value", name)
		}
		*value, found = query.Get(name), true
		query.Del(name)
	}
	switch {
	case !found:
		return nil, nil
	case (t.cert == "") != (t.key == ""):
		return nil, fmt.Errorf("redis URL: a client's certificate needs both %s and %s", redisCert, redisKey)
	}
	u.RawQuery = query.Encode()
	return t, nil
}

// over makes a client connect with TLS as the rest of a URL says, and with these files.
func (t *tlsFiles) over(o *redis.UniversalOptions) error {
	switch {
	case o.TLSConfig == nil:
		return fmt.Errorf("redis URL: %s, %s, %s and %s need TLS: rediss://", redisCA, redisCert, redisKey, redisServerName)
	case o.TLSConfig.InsecureSkipVerify && t.ca != "":
		return fmt.Errorf("redis URL: %s is of no use with skip_verify, which trusts every server", redisCA)
	}
	t.base, o.Dialer = o.TLSConfig.Clone(), t.dial
	t.base.MinVersion = tls.VersionTLS12
	t.base.ServerName = cmp.Or(t.serverName, t.base.ServerName)
	return nil
}

// readAuthorities reads a file of certificates, each of which must be complete.
func readAuthorities(file string) (*x509.CertPool, error) {
	rest, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	read := 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("%s holds a %s, and must hold certificates alone", file, block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d: %w", file, read+1, err)
		}
		pool.AddCert(certificate)
		read++
	}
	if read == 0 || bytes.Contains(rest, []byte("-----BEGIN")) {
		return nil, fmt.Errorf("%s: certificate %d is missing or incomplete; it must be PEM", file, read+1)
	}
	return pool, nil
}

// errReserved replaces an error that may quote what belongs to a password.
var errReserved = errors.New("a name or password in it has characters that mean something in a URL: " +
	"write each of them as % and two digits, such as %2F for /, %3F for ?, %23 for #, %40 for @, %25 for %, %2C for a comma")

// parseURL refuses a URL that cannot be parsed, and one whose password was not parsed as such: another @ follows the
// server's name. The error quotes nothing.
func parseURL(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	switch {
	case strings.Contains(text, "@") && (err != nil || parsed.User == nil):
		return nil, errReserved
	case err != nil:
		return nil, errors.New("it is not a valid URL") // err would quote it
	}
	return parsed, nil
}

// socketFolder finds a host of a PostgreSQL URL that is the folder of a socket, with the slashes written as %2F.
var socketFolder = regexp.MustCompile(`(?i)^([a-z]+://(?:[^/?#@]*@)?)(%2F[^/?#:@]*)(?::([0-9]*))?([/?#].*)?$`)

// withSocket returns a URL whose host is the folder of a socket in the form that Go can read: the folder is a parameter.
func withSocket(text string) string {
	parts := socketFolder.FindStringSubmatch(text)
	if parts == nil {
		return text
	}
	beginning, folder, port, rest := parts[1], parts[2], parts[3], parts[4]
	path, parameters, _ := strings.Cut(rest, "?")
	added := "host=" + folder
	if port != "" {
		added += "&port=" + port
	}
	return beginning + path + "?" + strings.Trim(added+"&"+parameters, "&")
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

// postgresHosts names the servers and the database of a URL, without secrets; "" if it cannot be read.
func postgresHosts(databaseURL string) string {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return ""
	}
	c := config.ConnConfig
	hosts := []string{address(c.Host, c.Port)}
	for _, other := range c.Fallbacks {
		if host := address(other.Host, other.Port); host != hosts[len(hosts)-1] { // once with TLS, once without
			hosts = append(hosts, host)
		}
	}
	return strings.Join(hosts, ",") + "/" + c.Database
}

// redisHosts names the servers of a configuration, without secrets.
func redisHosts(all []redisAddress) string {
	var hosts []string
	for _, address := range all {
		hosts = append(hosts, address.String())
	}
	return strings.Join(hosts, ",")
}

// address is HOST:PORT, or the folder of a socket.
func address(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
