package breaks

import (
	"context"
	"errors"
	"net"
	"sync"

	"inventory/internal/faultproxy"
)

// cable carries the connections of a client, through a proxy for each server.
type cable struct {
	mu      sync.Mutex
	out     bool
	proxies map[string]*faultproxy.Proxy // by the address of their server
}

// dial dials through the cable.
func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	proxy, err := c.to(ctx, address)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, network, proxy.Addr())
}

// to is the proxy before a server.
func (c *cable) to(ctx context.Context, address string) (proxy *faultproxy.Proxy, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if proxy = c.proxies[address]; proxy != nil {
		return proxy, nil
	}
	if proxy, err = faultproxy.Start(ctx, address); err != nil {
		return nil, err
	}
	if c.out {
		proxy.Cut()
	}
	if c.proxies == nil {
		c.proxies = make(map[string]*faultproxy.Proxy)
	}
	c.proxies[address] = proxy
	return proxy, nil
}

// set ends all connections. If the cable is then out, new ones end at once.
func (c *cable) set(out bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = out
	for _, proxy := range c.proxies {
		if proxy.Cut(); !out {
			proxy.Mend()
		}
	}
}

func (c *cable) close() error {
	var errs []error
	for _, proxy := range c.proxies {
		errs = append(errs, proxy.Close())
	}
	return errors.Join(errs...)
}
