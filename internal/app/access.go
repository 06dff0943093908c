package app

import (
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
	a.certificate, err = a.config.openCertificate()
	return err
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

// Reload reads the files of API keys, of the keys of tokens and of the certificate again, for the requests and connections
// that come. What cannot be read stays as it was, and is told in the error; what can is taken over all the same.
func (a *App) Reload() error {
	var errs []error
	if a.guard != nil {
		errs = append(errs, a.guard.Reload())
	}
	if a.certificate != nil {
		errs = append(errs, a.certificate.reload())
	}
	return errors.Join(errs...)
}

// Reloads tells whether there is anything to reload.
func (c Config) Reloads() bool { return c.Access.Configured() || c.TLSCert != "" }
