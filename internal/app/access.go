package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"inventory/internal/access"
	"inventory/internal/api"
)

// checkAddress refuses an address at which strangers could reach a listener that asks for no key, unless the flag permits
// that.
func checkAddress(address string, permitted bool, flag string) error {
	if lacksPort(address) {
		return fmt.Errorf("listen address %q: must be HOST:PORT, with a port of 0 to 65535", address)
	}
	if permitted || isLoopback(address) {
		return nil
	}
	return fmt.Errorf("listen address %q is not loopback, and nobody is asked for a key there: set %s if that is meant", address, flag)
}

// lacksPort reports whether an address is not HOST:PORT with a valid port.
func lacksPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err != nil
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// ListenOnLoopback listens at an address that only this machine can reach.
func ListenOnLoopback(ctx context.Context, address string) (net.Listener, error) {
	if !isLoopback(address) {
		return nil, ConfigError{fmt.Errorf("listen address %q: must be HOST:PORT on loopback", address)}
	}
	return listenOn(ctx, address)
}

// openAccess reads the keys of the callers that may call, the certificate of the public listener, and the files that Redis
// URLs name.
func (a *App) openAccess() (err error) {
	if a.config.Access.Configured() {
		if a.guard, err = access.NewGuard(a.config.Access); err != nil {
			return err
		}
	}
	if a.config.TLSCert != "" {
		a.certificate = &tlsFiles{of: "TLS", cert: a.config.TLSCert, key: a.config.TLSKey, base: &tls.Config{MinVersion: tls.VersionTLS12}}
	}
	if a.redisAt, err = a.config.usedRedis(); err != nil {
		return err
	}
	return a.readTLS()
}

// readTLS reads the files of the public listener's certificate and those that Redis URLs name.
func (a *App) readTLS() error {
	err := a.certificate.reload()
	for _, address := range a.redisAt {
		err = errors.Join(err, address.tls.reload())
	}
	return err
}

// limitCallers makes what bounds how often callers may call, by their keys or by their addresses behind proxies.
func (a *App) limitCallers() (err error) {
	if a.proxies, err = api.ParseProxies(a.config.TrustProxy); err != nil {
		return err
	}
	if a.config.RateLimit != 0 {
		if a.limiter, err = access.NewLimiter(a.config.RateLimit, a.config.RateBurst); err != nil {
			return fmt.Errorf("--rate-limit and --rate-burst: %w", err)
		}
	} else if a.config.RateBurst != 0 {
		return errors.New("--rate-burst needs a rate limit: --rate-limit")
	}
	if a.strangers = a.limiter; a.config.AddressRateLimit != 0 {
		if a.strangers, err = access.NewLimiter(a.config.AddressRateLimit, 0); err != nil {
			return fmt.Errorf("address %w", err)
		}
	}
	return nil
}

// logOpenListeners logs a line for each listener that anybody may use.
func (a *App) logOpenListeners() {
	log := a.config.Logger
	switch {
	case a.guard == nil && a.config.AllowAnonymous:
		log.Warn("anybody who reaches the public listener may do everything: --allow-anonymous is set")
	case a.guard == nil:
		log.Info("nobody is asked for a key: whoever is on this machine may do everything")
	}
	if a.config.AdminAllowAnonymous {
		log.Warn("anybody who reaches the admin listener may use it: --admin-allow-anonymous is set")
	}
}

// hostsOf returns the host names that a listener accepts at an address if it asks for no key; nil is any.
func (c Config) hostsOf(address string) *api.Hosts {
	if !isLoopback(address) {
		return nil
	}
	return api.NewHosts(c.AllowedHosts...)
}

// Reload reads the files of API keys, of the tokens' keys, of the certificate and of Redis' TLS again, for later requests and
// connections. If a file cannot be read, what was read from it before stays in use, and the error names it; the others are used anyway.
func (a *App) Reload() error {
	if a.guard == nil {
		return a.readTLS()
	}
	return errors.Join(a.guard.Reload(), a.readTLS())
}

// Reloads reports whether there is anything to reload.
func (c Config) Reloads() bool {
	all, err := c.usedRedis()
	ofRedis := err == nil && slices.ContainsFunc(all, func(address redisAddress) bool { return address.tls != nil })
	return c.Access.Configured() || c.TLSCert != "" || ofRedis
}
