package api

import (
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// Without keys, any page in a browser on the same machine could use the service, because the browser may. The service
// refuses pages of other sites by the headers that the browser sends about them. It refuses pages whose name suddenly
// means this machine (DNS rebinding) by that name. With keys neither is needed: a browser sends no Authorization header
// for another site unless the service permits it (CORS), and this one never does.

// Hosts are the host names that a listener on loopback accepts: localhost, any loopback address, and further ones.
type Hosts struct{ more []string }

// NewHosts returns hosts with further names in addition to those of loopback.
func NewHosts(more ...string) *Hosts { return &Hosts{more} }

// check refuses a request for another host. Nil hosts refuse nothing. A request without a host passes: no browser sends
// one.
func (h *Hosts) check(r *http.Request) error {
	if h == nil || r.Host == "" {
		return nil
	}
	name, ok := hostname(r.Host)
	if !ok {
		return forbidden("the Host header is no name or address with a port")
	}
	if strings.EqualFold(name, "localhost") || slices.ContainsFunc(h.more, func(more string) bool { return strings.EqualFold(name, more) }) {
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return forbidden("this listens on loopback, and not under this Host: name it with --allowed-hosts if that is meant")
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*$`)

// IsHost reports whether a text is a host in the form that hostname returns: another one would never be accepted.
func IsHost(text string) bool {
	ip, err := netip.ParseAddr(text)
	return hostName.MatchString(text) || err == nil && ip.Zone() == ""
}

// hostname returns a Host header without its port, without the dot at the end of a name, and an IPv6 address without brackets. It
// reports false if the header is anything else: what follows an accepted name must not be skipped.
func hostname(host string) (name string, ok bool) {
	rest, v6 := strings.CutPrefix(host, "[")
	if !v6 {
		name, port, hasPort := strings.Cut(host, ":")
		return strings.TrimSuffix(name, "."), !hasPort || isDigits(port)
	}
	name, rest, ok = strings.Cut(rest, "]")
	if ip, err := netip.ParseAddr(name); err != nil || !ip.Is6() || ip.Zone() != "" {
		return "", false
	}
	port, hasPort := strings.CutPrefix(rest, ":")
	return name, ok && (rest == "" || hasPort && isDigits(port))
}

func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// unsniffed makes browsers take answers for what their headers say.
func unsniffed(next http.Handler) http.Handler {
	only := []string{"nosniff"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()[echo.HeaderXContentTypeOptions] = only
		next.ServeHTTP(w, r)
	})
}

// refuseOtherPages refuses requests that a browser sends for a page of another site, and requests under another name.
func (s *server) refuseOtherPages(r *http.Request) error {
	if s.Guard == nil && s.origins.Check(r) != nil {
		return forbidden("a page of another site may not do this")
	}
	return s.Hosts.check(r)
}

// OnThisMachine refuses requests for other hosts, and those that a browser sends for a page of another site.
func (h *Hosts) OnThisMachine(next http.Handler) http.Handler {
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.check(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(checked)
}

// refuseOtherHosts is for listeners whose requests need not be fast.
func refuseOtherHosts(h *Hosts) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := h.check(c.Request()); err != nil {
				return err
			}
			return next(c)
		}
	}
}
