package api

import (
	"fmt"
	"net"

	"github.com/labstack/echo/v4"
)

// Proxies return the address of a request's caller: that of the connection, or what trusted proxies say in X-Forwarded-For.
type Proxies = echo.IPExtractor

// ParseProxies reads the networks (10.0.0.0/8) and single addresses of trusted proxies. Anybody else may write anything into a header.
func ParseProxies(texts []string) (Proxies, error) {
	if len(texts) == 0 {
		return echo.ExtractIPDirect(), nil
	}
	trusted := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, text := range texts {
		_, network, err := net.ParseCIDR(text)
		if address := net.ParseIP(text); address != nil {
			network, err = &net.IPNet{IP: address, Mask: net.CIDRMask(128, 128)}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q: must be a network such as 10.0.0.0/8 or 2001:db8::/32, or an address", text)
		}
		if network.Contains(net.IPv4zero) || network.Contains(net.IPv6zero) {
			return nil, fmt.Errorf("trusted proxy %q: this would trust everybody, and anybody could pass for any address", text)
		}
		trusted = append(trusted, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(trusted...), nil
}
