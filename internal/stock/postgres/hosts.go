package postgres

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// hosts remembers which hosts of a URL have failed and not answered since. A new connection tries those last, and not for
// long. A server that hangs never answers, but its kernel still accepts connections: each new one would first wait for
// connectTimeout there. The order is only a hint. The URL's target_session_attrs says which host is the right one.
type hosts struct {
	mu     sync.Mutex
	failed map[string]time.Time // when last, by HOST:PORT of the URL
	names  map[string]string    // the URL's name of a host by its address
}

func newHosts() *hosts {
	return &hosts{failed: make(map[string]time.Time), names: make(map[string]string)}
}

// silentFor is after how long without an answer a host counts as failed, and how long a host that has failed may take to
// answer.
const silentFor = time.Second

// order sorts the hosts of a new connection, and watches which of them answer.
func (h *hosts) order(config *pgconn.Config) {
	if !slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != config.Host || f.Port != config.Port }) {
		return // there is only one host, perhaps with TLS and without
	}
	h.sort(config)
	lookup, dial := config.LookupFunc, config.DialFunc
	config.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		addresses, err := lookup(ctx, host)
		h.learn(host, addresses)
		return addresses, err
	}
	attempts := &attempts{hosts: h}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		start := time.Now()
		attempts.next(address, start)
		conn, err := dial(ctx, network, address)
		if err == nil && h.hasFailed(address) {
			err = conn.SetDeadline(start.Add(silentFor))
		}
		return conn, err
	}
	next := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := next(ctx, conn); err != nil {
			if !Answered(err) {
				h.fail(conn.Conn().RemoteAddr().String())
			}
			return err
		}
		h.answered(conn.Conn().RemoteAddr().String())
		return conn.Conn().SetDeadline(time.Time{})
	}
}

// attempts are the addresses that a new connection has tried. pgx tries one address after another. In addition, in a goroutine of
// its own, it connects once more to an address that it has given up, to cancel what runs there.
type attempts struct {
	hosts *hosts
	mu    sync.Mutex
	tried []string  // addresses, each once
	since time.Time // of the last one
}

// next records that an address is tried, and that the one before it has failed if it has not answered for silentFor. An
// address that is tried again changes nothing.
func (a *attempts) next(address string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.Contains(a.tried, address) {
		return
	}
	if before := len(a.tried) - 1; before >= 0 && now.Sub(a.since) >= silentFor {
		a.hosts.fail(a.tried[before])
	}
	a.tried, a.since = append(a.tried, address), now
}

// sort puts hosts that have failed after the others, the one that failed last at the end.
func (h *hosts) sort(config *pgconn.Config) {
	first := &pgconn.FallbackConfig{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}
	all := append([]*pgconn.FallbackConfig{first}, config.Fallbacks...)
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortStableFunc(all, func(a, b *pgconn.FallbackConfig) int { return h.failed[hostOf(a)].Compare(h.failed[hostOf(b)]) })
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
}

func hostOf(c *pgconn.FallbackConfig) string {
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
}

func (h *hosts) learn(host string, addresses []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, address := range addresses {
		h.names[address] = host
	}
}

// fail records that the server at an address does not answer.
func (h *hosts) fail(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed[h.nameLocked(address)] = time.Now()
}

// answered records that the server at an address is as it should be.
func (h *hosts) answered(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failed, h.nameLocked(address))
}

func (h *hosts) hasFailed(address string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.failed[h.nameLocked(address)].IsZero()
}

// nameLocked returns what the URL calls an address. The address of a local socket stays as it is.
func (h *hosts) nameLocked(address string) string {
	host, port, err := net.SplitHostPort(address)
	if name, known := h.names[host]; err == nil && known {
		return net.JoinHostPort(name, port)
	}
	return address
}

// died records that the server of a dead connection has failed.
func (h *hosts) died(conn *pgx.Conn) { h.fail(conn.PgConn().Conn().RemoteAddr().String()) }
