package locking

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"inventory/internal/busytest"
	"inventory/internal/locking/locksim/wire"
)

// virtual runs a test against a miniredis in virtual time, which passes only while all goroutines wait. So a test of
// leases, bounds and deadlines knows when each ends, however busy the machine is.
func virtual(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	bubble(t, test)
}

// bubble is virtual for a test that is not parallel, or is parallel already.
func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	busytest.Virtual(t, func(t *testing.T) {
		test(&world{t: t, memory: newMemory(t, near), name: t.Name(), virtual: true})
	})
}

// near is the distance of a server: far enough for time to pass meanwhile.
const near = 100 * time.Microsecond

// A memory is a server in virtual time, without an address.
type memory struct {
	*miniredis.Miniredis

	distance time.Duration // the delay of everything that is sent to it
	links    sync.WaitGroup

	mu     sync.Mutex
	down   bool
	resume chan struct{} // closed while it does not stand still

	forgotten chan struct{} // closed when the network forgets the connections that there are

	refuses   bool // no client may subscribe
	listeners []*wire.Wire

	rewrite *strings.Replacer // changes the scripts that are sent; each text by one of equal length
}

func newMemory(t *testing.T, distance time.Duration) *memory {
	m := &memory{
		Miniredis: miniredis.NewMiniRedis(), distance: distance, resume: make(chan struct{}), forgotten: make(chan struct{}),
		rewrite: strings.NewReplacer(),
	}
	m.ClockTTL(true)
	close(m.resume)
	t.Cleanup(m.links.Wait)
	t.Cleanup(m.Close)
	t.Cleanup(m.Resume)
	return m
}

// Pause lets the server stand still: connections stay open, and requests get no answer.
func (m *memory) Pause() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resume = make(chan struct{})
}

// Resume lets it continue with the requests that have arrived.
func (m *memory) Resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.resume:
	default:
		close(m.resume)
	}
}

// stop ends the server. It keeps its data.
func (m *memory) stop() {
	m.mu.Lock()
	m.down = true
	m.mu.Unlock()
	m.Close()
}

// refuseConnections refuses all further connections. Those that there are go on.
func (m *memory) refuseConnections() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = true
}

// Kill ends the server, and its data is lost.
func (m *memory) Kill() {
	m.stop()
	m.FlushAll()
}

// Restart starts it again.
func (m *memory) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = false
}

// forget makes the network forget all connections to the server: what is sent over them gets lost, and nobody is told. New ones
// work.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.forgotten)
	m.forgotten = make(chan struct{})
}

// refuseListeners refuses all further subscriptions.
func (m *memory) refuseListeners() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses = true
}

// cutListeners cuts the connections of all subscribers, and returns how many there were.
func (m *memory) cutListeners() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	cut := len(m.listeners)
	for _, end := range m.listeners {
		end.HangUp()
	}
	m.listeners = nil
	return cut
}

// subscribes is called when the client at an end subscribes. It reports whether it may.
func (m *memory) subscribes(end *wire.Wire) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuses {
		end.Deliver([]byte("-NOPERM nobody may listen\r\n"))
		return false
	}
	m.listeners = append(m.listeners, end)
	return true
}

// goesOn is closed while the server does not stand still.
func (m *memory) goesOn() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resume
}

// dial connects.
func (m *memory) dial() (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, syscall.ECONNREFUSED
	}
	far, err := m.Dial()
	if err != nil {
		return nil, err
	}
	way, over := make(chan []byte, 1<<12), make(chan struct{})
	var end *wire.Wire
	end = wire.New(func(p []byte) {
		if !subscribes(p) || m.subscribes(end) {
			way <- bytes.Clone(p)
		}
	}, func() { close(over) })
	forgotten := m.forgotten
	m.links.Go(func() { m.send(far, way, over, forgotten) })
	m.links.Go(func() { receive(end, far, forgotten) })
	return end, nil
}

// send forwards requests to the server, until the client closes its end. Requests over a forgotten connection get lost.
func (m *memory) send(far net.Conn, way <-chan []byte, over, forgotten <-chan struct{}) {
	defer func() { _ = far.Close() }()
	for {
		select {
		case p := <-way:
			time.Sleep(m.distance)
			<-m.goesOn()
			if isClosed(forgotten) {
				continue
			}
			_, _ = far.Write([]byte(m.rewrite.Replace(string(p)))) // a closed connection takes nothing, as it should
		case <-over:
			if len(way) == 0 {
				return
			}
		}
	}
}

// receive forwards the server's answers to the client, unless the connection is forgotten.
func receive(end *wire.Wire, far net.Conn, forgotten <-chan struct{}) {
	buffer := make([]byte, 4096)
	for {
		n, err := far.Read(buffer)
		if isClosed(forgotten) {
			if err != nil {
				return
			}
			continue
		}
		end.Deliver(buffer[:n])
		if err != nil {
			end.HangUp()
			return
		}
	}
}
