package classroom

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc/test/bufconn"

	"inventory/internal/app"
	"inventory/internal/faultproxy"
)

const (
	// redisServers is the number of Redis servers, as a RedLock needs them. The other locks use the first one.
	redisServers = 3
	wayBuffer    = 64 << 10 // bytes, each way
)

// network is between the processes and the Redis servers that they share. It has no port: other users of the machine could take
// locks through one.
type network struct {
	servers []*app.EmbeddedRedis
	ways    [mostProcesses][redisServers]*way

	mu    sync.Mutex
	down  bool                // the first server is stopped
	apart [mostProcesses]bool // processes that reach no server
}

// way leads from a process to a server.
type way struct {
	*faultproxy.Proxy
	entry *bufconn.Listener
}

func newNetwork() (*network, error) {
	n := &network{}
	for range redisServers {
		server, err := app.StartEmbeddedRedis()
		if err != nil {
			return nil, errors.Join(err, n.close())
		}
		n.servers = append(n.servers, server)
	}
	n.each(func(process, server int, _ *way) {
		entry := bufconn.Listen(wayBuffer)
		n.ways[process][server] = &way{faultproxy.Serve(entry, func(ctx context.Context) (net.Conn, error) {
			return n.servers[server].Dial(ctx, "", "")
		}), entry}
	})
	return n, nil
}

func (n *network) close() (err error) {
	n.each(func(_, _ int, w *way) {
		if w != nil {
			err = errors.Join(err, w.Close())
		}
	})
	for _, server := range n.servers {
		server.Close()
	}
	return err
}

func (n *network) each(do func(process, server int, w *way)) {
	for process, ways := range n.ways {
		for server, w := range ways {
			do(process, server, w)
		}
	}
}

// dialer returns the function by which a process connects. Nobody connects while the process stands still.
func (n *network) dialer(process int, gate *gate) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		server := 0
		if _, err := fmt.Sscanf(address, app.Embedded+"-%d", &server); err != nil {
			return nil, fmt.Errorf("address %q: %w", address, err)
		}
		gate.pass()
		return n.ways[process][server].entry.DialContext(ctx)
	}
}

// change cuts or mends ways by do.
func (n *network) change(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	n.each(func(process, server int, w *way) {
		if n.down && server == 0 || n.apart[process] {
			w.Cut()
		} else {
			w.Mend()
		}
	})
}

func (n *network) stop(down bool)              { n.change(func() { n.down = down }) }
func (n *network) cut(process int, apart bool) { n.change(func() { n.apart[process] = apart }) }
func (n *network) isCut(process int) bool      { n.mu.Lock(); defer n.mu.Unlock(); return n.apart[process] }
func (n *network) isDown() bool                { n.mu.Lock(); defer n.mu.Unlock(); return n.down }

// hold has the connections of a process stand still, as long as it does.
func (n *network) hold(process int, still bool) {
	for _, w := range n.ways[process] {
		if still {
			w.Hold()
		} else {
			w.Deliver()
		}
	}
}

func (n *network) empty() {
	for _, server := range n.servers {
		server.Empty()
	}
}
