package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
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

// The parameters of a Redis URL for TLS.
const (
	redisCA         = "tls_ca"
	redisCert       = "tls_cert"
	redisKey        = "tls_key"
	redisServerName = "tls_server_name"
)

// redisTLS is what a client of Redis trusts and shows, in files that may be read again. It is that of all servers of a URL,
// Sentinels too.
type redisTLS struct {
	ca, cert, key, serverName string                     // "": the URL has no such parameter
	base                      *tls.Config                // what else the URL says
	current                   atomic.Pointer[tls.Config] // for new connections
}

// dialer opens connections to a Redis.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// takeRedisTLS removes the parameters for TLS from a Redis URL; nil means that there are none.
func takeRedisTLS(u *url.URL) (*redisTLS, error) {
	t, query := &redisTLS{}, u.Query()
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

// over returns the function that connects with TLS as the options of a URL say, and otherwise as go-redis does.
func (t *redisTLS) over(config *tls.Config) (dialer, error) {
	switch {
	case t == nil:
		return nil, nil
	case config == nil:
		return nil, fmt.Errorf("redis URL: %s, %s, %s and %s need TLS: rediss://", redisCA, redisCert, redisKey, redisServerName)
	case config.InsecureSkipVerify && t.ca != "":
		return nil, fmt.Errorf("redis URL: %s is of no use with skip_verify, which trusts every server", redisCA)
	}
	t.base = config
	return t.dial, nil
}

// reload reads the files, for later connections. After an error what is in use stays as it was.
func (t *redisTLS) reload() error {
	config := t.base.Clone()
	config.MinVersion = tls.VersionTLS12
	if t.serverName != "" {
		config.ServerName = t.serverName
	}
	if t.ca != "" {
		trusted, err := readAuthorities(t.ca)
		if err != nil {
			return fmt.Errorf("redis URL: %s: %w", redisCA, err)
		}
		config.RootCAs = trusted
	}
	if t.cert != "" {
		own, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return fmt.Errorf("redis URL: %s %s and %s %s: %w", redisCert, t.cert, redisKey, t.key, err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	t.current.Store(config)
	return nil
}

// readAuthorities reads a file of certificates, each of which must be whole.
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
		return nil, fmt.Errorf("%s: certificate %d is missing or not whole; it must be PEM", file, read+1)
	}
	return pool, nil
}

// dial connects to a server. Its name is that of the URL, or its address if the client has found it itself.
func (t *redisTLS) dial(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: redisDial, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3, // as go-redis has them
	}}
	return (&tls.Dialer{NetDialer: plain, Config: t.current.Load()}).DialContext(ctx, network, address)
}

// readTLS reads the files that Redis URLs name. An error leaves those of its URL as they were.
func readTLS(all []redisAddress) error {
	var errs []error
	for _, address := range all {
		if address.tls != nil {
			errs = append(errs, address.tls.reload())
		}
	}
	return errors.Join(errs...)
}

// errReserved replaces an error that may quote a part of a password.
var errReserved = errors.New("a name or password in it has characters that mean something in a URL: " +
	"write each of them as % and two digits, such as %2F for /, %3F for ?, %23 for #, %40 for @, %25 for %, %2C for a comma")

// checkURL refuses a URL that cannot be parsed, and one whose password was not parsed as such: another @ follows the
// server's name. The error quotes nothing.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "@"):
		return errReserved
	case err != nil:
		return errors.New("it is not a valid URL") // err would quote it
	case parsed.User == nil && strings.Contains(text, "@"):
		return errReserved
	}
	return nil
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
	if err := checkURL(text); err != nil {
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
