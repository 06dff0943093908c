package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Proxies are the networks whose word about a caller's address is taken. Anybody else may write anything into a header.
type Proxies struct{ networks []netip.Prefix }

// ParseProxies reads networks (10.0.0.0/8) and single addresses.
func ParseProxies(texts []string) (*Proxies, error) {
	p := new(Proxies)
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil && address.Zone() == "" {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil || network.Addr().Is4In6() {
			return nil, fmt.Errorf("trusted proxy %q: must be a network such as 10.0.0.0/8 or 2001:db8::/32, or an address", text)
		}
		if network.Bits() == 0 {
			return nil, fmt.Errorf("trusted proxy %q: this would trust everybody, and anybody could pass for any address", text)
		}
		p.networks = append(p.networks, network)
	}
	return p, nil
}

// behind passes requests on with the address of their caller in place of the proxy's. Nil proxies trust nobody.
func (p *Proxies) behind(next http.Handler) http.Handler {
	if p == nil || len(p.networks) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			if caller := p.caller(peer.Addr().Unmap(), r.Header); caller != peer.Addr().Unmap() {
				behind := *r
				behind.RemoteAddr = netip.AddrPortFrom(caller, 0).String()
				r = &behind
			}
		}
		next.ServeHTTP(w, r)
	})
}

// caller returns the address of a caller, given that of the connection. A proxy writes one of two headers, and passes the other
// one on as it came: if they disagree, neither is believed.
func (p *Proxies) caller(peer netip.Addr, header http.Header) netip.Addr {
	plain, full := header["X-Forwarded-For"], header["Forwarded"]
	switch {
	case !p.trust(peer) || plain == nil && full == nil:
		return peer
	case full == nil:
		return p.last(peer, plain, splitPlain)
	case plain == nil:
		return p.last(peer, full, splitForwarded)
	}
	caller := p.last(peer, plain, splitPlain)
	if caller != p.last(peer, full, splitForwarded) {
		return peer
	}
	return caller
}

func (p *Proxies) trust(address netip.Addr) bool {
	return slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(address) })
}

// last goes from the connection back from hop to hop, from right to left, while the hop that names the next one is trusted. It
// ends before a hop that it cannot read.
func (p *Proxies) last(peer netip.Addr, lines []string, split func(line string) (hops []string, ok bool)) netip.Addr {
	for _, line := range slices.Backward(lines) {
		hops, ok := split(line)
		if !ok {
			return peer
		}
		for _, hop := range slices.Backward(hops) {
			if !p.trust(peer) {
				return peer
			}
			next, ok := hopAddress(hop)
			if !ok {
				return peer
			}
			peer = next
		}
	}
	return peer
}

// splitPlain splits a line of X-Forwarded-For.
func splitPlain(line string) (hops []string, ok bool) { return strings.Split(line, ","), true }

// forwardedPair is a name, its value, which may be quoted, and what follows, at the beginning of a line of Forwarded (RFC 7239).
var (
	forwardedPair = regexp.MustCompile(`^[ \t]*([^"=,; \t]+)=(?:"((?:[^"\\]|\\.)*)"|([^"=\\,; \t]+))[ \t]*(,|;|$)`)
	escape        = regexp.MustCompile(`\\(.)`)
)

// splitForwarded splits a line of Forwarded, and returns the value of for in each element; "" if there is none. It reports
// false if any of the line is malformed: a caller may have left a quote open to swallow what the proxy added.
func splitForwarded(line string) (hops []string, ok bool) {
	hop, named := "", false
	for {
		parts := forwardedPair.FindStringSubmatch(line)
		if parts == nil {
			return nil, false
		}
		all, name, quoted, plain, next := parts[0], parts[1], parts[2], parts[3], parts[4]
		if strings.EqualFold(name, "for") {
			if named {
				return nil, false
			}
			hop, named = escape.ReplaceAllString(quoted, "$1")+plain, true
		}
		switch next {
		case "":
			return append(hops, hop), true
		case ",":
			hops, hop, named = append(hops, hop), "", false
		}
		line = line[len(all):]
	}
}

// hopAddress reads an address, with or without brackets and a port, which may be hidden (RFC 7239).
func hopAddress(text string) (netip.Addr, bool) {
	text, _, _ = strings.Cut(strings.Trim(text, " \t"), ":_")
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap(), withPort.Addr().Zone() == ""
	}
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") && strings.Contains(text, ":") {
		text = text[1 : len(text)-1]
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap(), err == nil && address.Zone() == ""
}
