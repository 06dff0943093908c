package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"inventory/internal/access"
)

// checkAddress refuses to listen where strangers could reach a listener that asks nobody for a key. The admin listener
// never asks.
func (c Config) checkAddress(address string, asks bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: must be HOST:PORT", address)
	}
	if asks || c.AllowAnonymous || host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen address %q is not loopback, and nobody is asked for a key there: "+
		"set --allow-anonymous if that is meant", address)
}

// openAccess reads who is let in and how often, and the certificate of the public listener.
func (a *App) openAccess() (err error) {
	if a.config.Access.Configured() {
		if a.guard, err = access.NewGuard(a.config.Access); err != nil {
			return err
		}
	}
	if a.config.RateLimit != 0 {
		if a.limiter, err = access.NewLimiter(a.config.RateLimit, a.config.RateBurst); err != nil {
			return err
		}
	} else if a.config.RateBurst != 0 {
		return errors.New("rate burst: needs a rate limit")
	}
	a.tls, err = a.config.tls()
	return err
}

// tls is how the public listener encrypts; nil is not at all.
func (c Config) tls() (*tls.Config, error) {
	if c.TLSCert == "" && c.TLSKey == "" {
		return nil, nil
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		return nil, errors.New("TLS: needs both a certificate and its key")
	}
	certificate, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("TLS: certificate %s and key %s: %w", c.TLSCert, c.TLSKey, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// tellWhoIsLetIn says in one line where nobody is asked for a key.
func (a *App) tellWhoIsLetIn() {
	log := a.config.Logger
	switch {
	case a.guard == nil && a.config.AllowAnonymous:
		log.Warn("anybody who reaches the listeners may use them: --allow-anonymous is set")
	case a.guard == nil:
		log.Info("nobody is asked for a key: whoever is on this machine may do everything")
	case a.config.AllowAnonymous:
		log.Warn("anybody who reaches the admin listener may use it: --allow-anonymous is set")
	}
}

// ReloadAccess reads the files of API keys and of the keys of tokens again, for the requests that come. After an error
// those from before are good. It does nothing for a service that asks nobody for a key.
func (a *App) ReloadAccess() error {
	if a.guard == nil {
		return nil
	}
	return a.guard.Reload()
}
