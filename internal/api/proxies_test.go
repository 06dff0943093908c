package api

import (
	"net/http"
	"testing"
)

// TestCallersBehindProxies: the caller is the last hop that a trusted one names.
func TestCallersBehindProxies(t *testing.T) {
	t.Parallel()
	proxies, err := ParseProxies([]string{"10.0.0.0/8", "2001:db8::/32", "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	const proxy, stranger = "10.0.0.1:80", "198.51.100.1:80"
	for name, c := range map[string]struct {
		peer string
		hops []string
		want string
	}{
		"no header":                   {proxy, nil, "10.0.0.1"},
		"a stranger's header":         {stranger, []string{"203.0.113.1"}, "198.51.100.1"},
		"one hop":                     {proxy, []string{"203.0.113.1"}, "203.0.113.1"},
		"a single address is trusted": {"192.0.2.7:80", []string{"203.0.113.1"}, "203.0.113.1"},
		"its neighbour is not":        {"192.0.2.8:80", []string{"203.0.113.1"}, "192.0.2.8"},
		"a peer in IPv6 form":         {"[::ffff:10.0.0.1]:80", []string{"203.0.113.1"}, "203.0.113.1"},
		"a hop in IPv6 form":          {proxy, []string{"203.0.113.1, ::ffff:10.0.0.2"}, "203.0.113.1"},
		"a forged hop before":         {proxy, []string{"127.0.0.1, 203.0.113.1"}, "203.0.113.1"},
		"trusted hops":                {proxy, []string{"1.1.1.1, 203.0.113.1, 10.0.0.3,10.0.0.2"}, "203.0.113.1"},
		"only trusted hops":           {proxy, []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"several lines":               {proxy, []string{"1.1.1.1", "203.0.113.1", "10.0.0.2"}, "203.0.113.1"},
		"a port":                      {proxy, []string{"203.0.113.1:4711"}, "10.0.0.1"},
		"IPv6":                        {proxy, []string{"2001:db9::1"}, "2001:db9::1"},
		"IPv6 in brackets":            {proxy, []string{"[2001:db9::1]"}, "2001:db9::1"},
		"a trusted IPv6 proxy":        {"[2001:db8::9]:1", []string{"203.0.113.1, 2001:db8::2"}, "203.0.113.1"},
		"nothing":                     {proxy, []string{""}, "10.0.0.1"},
		"nothing at the end":          {proxy, []string{"203.0.113.1,"}, "10.0.0.1"},
		"nothing before":              {proxy, []string{", 203.0.113.1"}, "203.0.113.1"},
		"nonsense":                    {proxy, []string{"nonsense"}, "10.0.0.1"},
		"nonsense behind a hop":       {proxy, []string{"1.1.1.1, unknown, 10.0.0.2"}, "10.0.0.1"},
		"leading zeros":               {proxy, []string{"010.1.1.1"}, "10.0.0.1"},
		"text after brackets":         {proxy, []string{"[2001:db9::1]evil"}, "10.0.0.1"},
		"a zone":                      {proxy, []string{"fe80::1%eth0"}, "10.0.0.1"},
		"a wrong port":                {proxy, []string{"1.1.1.1:x"}, "10.0.0.1"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.hops, "Forwarded": {"for=1.1.1.1"}}}
		if got := addressOf(proxies(r)); got != addressOf(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestProxiesThatAreNoNetworks: also a network of everybody.
func TestProxiesThatAreNoNetworks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "localhost", "10.0.0.0/33", "10.0.0", "0.0.0.0/0", "::/0", "fe80::1%eth0", "::ffff:0:0/96", " 10.0.0.1"} {
		if p, err := ParseProxies([]string{text}); err == nil {
			t.Errorf("%q is taken: %t", text, p != nil)
		}
	}
}

// FuzzForged: whatever a stranger sends, behind a proxy that appends to its header or adds a line it is the stranger, or the proxy.
func FuzzForged(f *testing.F) {
	for _, seed := range []string{"", "1.1.1.1", "10.0.0.2", "10.0.0.2, 10.0.0.3", ",", "[", "]", `"`, "\n"} {
		f.Add(seed)
	}
	proxies, err := ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, forged string) {
		for _, lines := range [][]string{{forged + ", 203.0.113.1"}, {forged + ",203.0.113.1"}, {forged, "203.0.113.1"}} {
			r := &http.Request{RemoteAddr: "10.0.0.1:80", Header: http.Header{"X-Forwarded-For": lines}}
			if caller := proxies(r); caller != "10.0.0.1" && caller != "203.0.113.1" {
				t.Errorf("%v passes for %s", lines, caller)
			}
		}
	})
}
