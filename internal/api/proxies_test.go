package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
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
		peer            string
		plain, standard []string
		want            string
	}{
		"no header":                       {proxy, nil, nil, "10.0.0.1"},
		"a stranger's header":             {stranger, []string{"203.0.113.1"}, []string{"for=203.0.113.1"}, "198.51.100.1"},
		"one hop":                         {proxy, []string{"203.0.113.1"}, nil, "203.0.113.1"},
		"a single address is trusted":     {"192.0.2.7:80", []string{"203.0.113.1"}, nil, "203.0.113.1"},
		"its neighbour is not":            {"192.0.2.8:80", []string{"203.0.113.1"}, nil, "192.0.2.8"},
		"a peer in IPv6 form":             {"[::ffff:10.0.0.1]:80", []string{"203.0.113.1"}, nil, "203.0.113.1"},
		"a hop in IPv6 form":              {proxy, []string{"203.0.113.1, ::ffff:10.0.0.2"}, nil, "203.0.113.1"},
		"a forged hop before":             {proxy, []string{"127.0.0.1, 203.0.113.1"}, nil, "203.0.113.1"},
		"trusted hops":                    {proxy, []string{"1.1.1.1, 203.0.113.1, 10.0.0.3,10.0.0.2"}, nil, "203.0.113.1"},
		"only trusted hops":               {proxy, []string{"10.0.0.3, 10.0.0.2"}, nil, "10.0.0.3"},
		"several lines":                   {proxy, []string{"1.1.1.1", "203.0.113.1", "10.0.0.2"}, nil, "203.0.113.1"},
		"a port":                          {proxy, []string{"203.0.113.1:4711"}, nil, "203.0.113.1"},
		"IPv6":                            {proxy, []string{"2001:db9::1"}, nil, "2001:db9::1"},
		"IPv6 in brackets":                {proxy, []string{"[2001:db9::1]"}, nil, "2001:db9::1"},
		"IPv6 with a port":                {proxy, []string{"[2001:db9::1]:4711"}, nil, "2001:db9::1"},
		"a trusted IPv6 proxy":            {"[2001:db8::9]:1", []string{"203.0.113.1, 2001:db8::2"}, nil, "203.0.113.1"},
		"nothing":                         {proxy, []string{""}, nil, "10.0.0.1"},
		"nothing at the end":              {proxy, []string{"203.0.113.1,"}, nil, "10.0.0.1"},
		"nothing before":                  {proxy, []string{", 203.0.113.1"}, nil, "203.0.113.1"},
		"nonsense":                        {proxy, []string{"nonsense"}, nil, "10.0.0.1"},
		"nonsense behind a hop":           {proxy, []string{"1.1.1.1, unknown, 10.0.0.2"}, nil, "10.0.0.2"},
		"leading zeros":                   {proxy, []string{"010.1.1.1"}, nil, "10.0.0.1"},
		"text after brackets":             {proxy, []string{"[2001:db9::1]evil"}, nil, "10.0.0.1"},
		"IPv4 in brackets":                {proxy, []string{"[1.1.1.1]"}, nil, "10.0.0.1"},
		"a zone":                          {proxy, []string{"fe80::1%eth0"}, nil, "10.0.0.1"},
		"a wrong port":                    {proxy, []string{"1.1.1.1:x"}, nil, "10.0.0.1"},
		"standard":                        {proxy, nil, []string{"for=203.0.113.1;proto=https;by=10.0.0.1"}, "203.0.113.1"},
		"standard, quoted":                {proxy, nil, []string{`For="[2001:db9::1]:4711"`}, "2001:db9::1"},
		"standard, a hidden port":         {proxy, nil, []string{`for="203.0.113.1:_p"`}, "203.0.113.1"},
		"standard, with escapes":          {proxy, nil, []string{`for="203.0.113\.1"`}, "203.0.113.1"},
		"standard, hops":                  {proxy, nil, []string{`for=1.1.1.1, for=203.0.113.1;host="a,b;c", for=10.0.0.2`}, "203.0.113.1"},
		"standard, lines":                 {proxy, nil, []string{"for=1.1.1.1", "for=203.0.113.1"}, "203.0.113.1"},
		"standard, unknown":               {proxy, nil, []string{"for=1.1.1.1, for=unknown"}, "10.0.0.1"},
		"standard, hidden":                {proxy, nil, []string{"for=_secret"}, "10.0.0.1"},
		"standard, without for":           {proxy, nil, []string{"for=1.1.1.1, proto=http"}, "10.0.0.1"},
		"standard, twice":                 {proxy, nil, []string{"for=1.1.1.1;for=2.2.2.2"}, "10.0.0.1"},
		"standard, an open quote":         {proxy, nil, []string{`for="1.1.1.1, for=203.0.113.1`}, "10.0.0.1"},
		"standard, a quote swallows":      {proxy, nil, []string{`for=1.1.1.1;x=", for="[2001:db9::1]:80"`}, "10.0.0.1"},
		"standard, an open quote before":  {proxy, nil, []string{`for="1.1.1.1`, "for=203.0.113.1"}, "203.0.113.1"},
		"standard, an escape at the end":  {proxy, nil, []string{`for="1.1.1.1\`}, "10.0.0.1"},
		"standard, blanks":                {proxy, nil, []string{"for = 1.1.1.1"}, "10.0.0.1"},
		"both, and they agree":            {proxy, []string{"203.0.113.1"}, []string{"for=203.0.113.1"}, "203.0.113.1"},
		"both, and one was forged":        {proxy, []string{"203.0.113.1"}, []string{"for=1.1.1.1"}, "10.0.0.1"},
		"both, and the other was forged":  {proxy, []string{"1.1.1.1"}, []string{"for=203.0.113.1"}, "10.0.0.1"},
		"both, and the forged one is bad": {proxy, []string{"203.0.113.1"}, []string{"nonsense"}, "10.0.0.1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"], r.Header["Forwarded"] = c.peer, c.plain, c.standard
		got := ""
		proxies.behind(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(nil, r)
		if from, err := netip.ParseAddrPort(got); err != nil || from.Addr().Unmap().String() != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}

// TestProxiesThatAreNoNetworks: also a network of everybody.
func TestProxiesThatAreNoNetworks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "localhost", "10.0.0.0/33", "10.0.0", "0.0.0.0/0", "::/0", "fe80::1%eth0", "::ffff:10.0.0.0/104", " 10.0.0.1"} {
		if p, err := ParseProxies([]string{text}); err == nil {
			t.Errorf("%q is taken: %v", text, p)
		}
	}
}

// FuzzForged: whatever a stranger sends, behind a proxy that appends to its header or adds a line it is the stranger, or the proxy.
func FuzzForged(f *testing.F) {
	for _, seed := range []string{"", "1.1.1.1", `for="x`, `for=1.1.1.1;x="`, `for="\`, "10.0.0.2", "for=10.0.0.2, for=10.0.0.3", ",", ";", `"`} {
		f.Add(seed, seed)
	}
	proxies, err := ParseProxies([]string{"10.0.0.0/8"})
	if err != nil {
		f.Fatal(err)
	}
	proxy, stranger := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("203.0.113.1")
	f.Fuzz(func(t *testing.T, forged, other string) {
		for _, header := range []http.Header{
			{"X-Forwarded-For": {forged + ", 203.0.113.1"}},
			{"X-Forwarded-For": {forged, "203.0.113.1"}},
			{"X-Forwarded-For": {forged + ",203.0.113.1"}, "Forwarded": {other}},
			{"Forwarded": {forged + ", for=203.0.113.1"}},
			{"Forwarded": {forged + `, for="203.0.113.1:80"`}},
			{"Forwarded": {forged, `for="203.0.113.1"`}},
			{"Forwarded": {forged, "for=203.0.113.1"}, "X-Forwarded-For": {other}},
		} {
			if caller := proxies.caller(proxy, header); caller != proxy && caller != stranger {
				t.Errorf("%v passes for %s", header, caller)
			}
		}
	})
}
