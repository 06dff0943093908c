package api

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
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
	name := strings.TrimSuffix((&url.URL{Host: r.Host}).Hostname(), ".") // with all that is neither a port nor brackets
	if strings.EqualFold(name, "localhost") || slices.ContainsFunc(h.more, func(more string) bool { return strings.EqualFold(name, more) }) {
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return forbidden("this listens on loopback, and not under this Host: name it with --allowed-hosts if that is meant")
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*$`)

// IsHost reports whether a text is a host in the form that a request's is compared in: another one would never be accepted.
func IsHost(text string) bool {
	ip, err := netip.ParseAddr(text)
	return hostName.MatchString(text) || err == nil && ip.Zone() == ""
}

// refuseOtherPages refuses requests that a browser sends for a page of another site, and requests under another name.
func (s *server) refuseOtherPages(r *http.Request) error {
	if s.Guard == nil && s.origins.Check(r) != nil {
		return forbidden("a page of another site may not do this")
	}
	return s.Hosts.check(r)
}

// refuseForeign refuses requests that a browser sends for a page of another origin. It is for what costs something to read: pages
// cannot read the answers, but each open one would cost a listener or a profile.
func refuseForeign(r *http.Request) error {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	default:
		return forbidden("a page of another site may not do this")
	}
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
