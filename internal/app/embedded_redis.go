package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc/test/bufconn"

	"inventory/internal/keyexpiry"
)

// EmbeddedRedis is a Redis inside the process, whose keys expire by the clock. A service starts its own; services that
// share one get it by [Config].RedisDial.
type EmbeddedRedis struct {
	server   *miniredis.Miniredis
	listener *bufconn.Listener
	expiry   func() // ends the expiry of keys
	running  sync.WaitGroup
}

const connBuffer = 64 << 10 // bytes, each way

// StartEmbeddedRedis starts a Redis that only this process can reach. It has no port, through which other users of the
// machine could take and free locks.
//
// Its connections are buffered, unlike those of miniredis: otherwise a client that sends many commands at once would
// wait for the server to read more, and the server for the client to take the first answer.
func StartEmbeddedRedis() (*EmbeddedRedis, error) {
	if strconv.IntSize < 64 { // miniredis keeps times in an int
		return nil, errors.New("the embedded Redis needs a 64-bit system: give --redis-url, or --lock none")
	}
	r := &EmbeddedRedis{server: miniredis.NewMiniRedis(), listener: bufconn.Listen(connBuffer)}
	first, err := r.server.Dial() // this starts it
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	r.expiry = keyexpiry.Start(r.server)
	r.running.Go(r.accept)
	return r, first.Close()
}

// Dial connects to it, and ignores the address.
func (r *EmbeddedRedis) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return r.listener.DialContext(ctx)
}

// accept serves clients until Close.
func (r *EmbeddedRedis) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.server.Server().ServeConn(conn)
	}
}

// Empty forgets everything, locks too.
func (r *EmbeddedRedis) Empty() { r.server.FlushAll() }

// Close ends it and its connections.
func (r *EmbeddedRedis) Close() {
	r.expiry()
	_ = r.listener.Close() // cannot fail
	r.running.Wait()
	r.server.Close()
}
