package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync/atomic"
	"time"
)

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
