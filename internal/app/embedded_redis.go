package app

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc/test/bufconn"
)

// embeddedRedis is a Redis inside the process, whose keys expire by the clock.
//
// miniredis can do that by itself (ClockTTL), but then it goes through all keys at every access to any of them. With
// the clocks of a thousand buckets that was more than half of a replay's processor time. One tick does it for all keys.
type embeddedRedis struct {
	server   *miniredis.Miniredis
	listener *bufconn.Listener
	stop     chan struct{}
	running  sync.WaitGroup
}

const connBuffer = 64 << 10 // bytes of a connection, each way

// expiryTick is how late a key may expire, which makes a lease that much longer.
const expiryTick = 10 * time.Millisecond

// startEmbeddedRedis starts one that only this process can reach. It has no port: other users of the machine could take
// and free locks there.
//
// Its connections are buffered, unlike those of miniredis: otherwise a client that sends many commands at once would
// wait for the server to read on, and the server for the client to take the first answer.
func startEmbeddedRedis() (*embeddedRedis, error) {
	r := &embeddedRedis{server: miniredis.NewMiniRedis(), listener: bufconn.Listen(connBuffer), stop: make(chan struct{})}
	first, err := r.server.Dial() // this starts it
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	r.running.Go(r.tick)
	r.running.Go(r.accept)
	return r, first.Close()
}

// dial connects to it, whatever the address.
func (r *embeddedRedis) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return r.listener.DialContext(ctx)
}

// accept serves clients until close.
func (r *embeddedRedis) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.server.Server().ServeConn(conn)
	}
}

// tick lets keys grow older until close.
func (r *embeddedRedis) tick() {
	ticker := time.NewTicker(expiryTick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-r.stop:
			return
		case now := <-ticker.C:
			r.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

func (r *embeddedRedis) close() {
	close(r.stop)
	_ = r.listener.Close() // cannot fail
	r.running.Wait()
	r.server.Close()
}
