package app

import (
	"context"
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
	if !hasPort(address) {
		return fmt.Errorf("listen address %q: must be HOST:PORT", address)
	}
	if permitted || isLoopback(address) {
		return nil
	}
	return fmt.Errorf("listen address %q is not loopback, and nobody is asked for a key there: set %s if that is meant", address, flag)
}

// hasPort reports whether an address is HOST:PORT with a valid port.
func hasPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err == nil
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
	a.checkKeyFiles()
	if a.certificate, err = a.config.openCertificate(); err != nil {
		return err
	}
	if a.redisAt, err = a.config.usedRedis(); err != nil {
		return err
	}
	return readTLS(a.redisAt)
}

// limitCallers makes the limiters that bound how often callers may call.
func (a *App) limitCallers() (err error) {
	if a.config.RateLimit != 0 {
		if a.limiter, err = access.NewLimiter(a.config.RateLimit, a.config.RateBurst); err != nil {
			return err
		}
	} else if a.config.RateBurst != 0 {
		return errors.New("rate burst: needs a rate limit")
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
// connections. A file that cannot be read leaves its part as it was, and the error names it; the others are used anyway.
func (a *App) Reload() error {
	var errs []error
	if a.guard != nil {
		errs = append(errs, a.guard.Reload())
	}
	if a.certificate != nil {
		errs = append(errs, a.certificate.reload())
	}
	a.checkKeyFiles()
	return errors.Join(append(errs, readTLS(a.redisAt))...)
}

// Reloads reports whether there is anything to reload.
func (c Config) Reloads() bool {
	all, err := c.usedRedis()
	ofRedis := err == nil && slices.ContainsFunc(all, func(address redisAddress) bool { return address.tls != nil })
	return c.Access.Configured() || c.TLSCert != "" || ofRedis
}
