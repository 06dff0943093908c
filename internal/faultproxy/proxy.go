// Package faultproxy is a proxy between clients and a server whose network fails on command. The load lab, the classroom
// and tests have no other.
//
// It passes bytes on as they are, of any protocol, over TCP ([Start], [StartBefore]) or whatever else a listener and a dialer offer ([Serve]).
// Each fault begins and ends by itself:
//
//	Cut      Mend       All connections end, and new ones end at once.
//	Slow(d)  Slow(0)    What is sent arrives later.
//	Lose     Recover    What is sent never arrives. A connection that lost something ends by Recover.
//	Hold     Deliver    The present connections accept what is sent, and deliver it at Deliver: not even that an end has closed is
//	                    known before. New connections work.
package faultproxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"time"
)

// Proxy carries connections to one server.
type Proxy struct {
	listener net.Listener
	dial     func(ctx context.Context) (net.Conn, error)
	open     context.Context // ends with Close
	close    context.CancelFunc
	running  sync.WaitGroup

	mu     sync.Mutex
	links  map[*link]struct{}
	cut    bool
	losing bool
	delay  time.Duration
}

// link is one connection of a client.
type link struct {
	client, server net.Conn
	held           chan struct{} // closed when it is delivered; nil: it is not held
	lost           bool          // something of it was lost
}

// Start starts a proxy on a free port of 127.0.0.1 before the server at an address.
func Start(ctx context.Context, server string) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	return Serve(listener, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", server)
	}), nil
}

// StartBefore starts a proxy before the server of a URL, and returns the URL that leads through it.
func StartBefore(ctx context.Context, server string) (through string, p *Proxy, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, fmt.Errorf("start a proxy: %w", err)
	}
	if p, err = Start(ctx, u.Host); err != nil {
		return "", nil, err
	}
	u.Host = p.Addr()
	return u.String(), p, nil
}

// Serve starts a proxy that takes clients from a listener, which it closes in the end, and dials a server for each.
func Serve(listener net.Listener, dial func(ctx context.Context) (net.Conn, error)) *Proxy {
	p := &Proxy{listener: listener, dial: dial, links: make(map[*link]struct{})}
	p.open, p.close = context.WithCancel(context.Background())
	p.running.Go(p.accept)
	return p
}

// Addr is the address for clients, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	p.close()
	err := p.listener.Close()
	p.Cut()
	p.running.Wait()
	return err
}

// Connections counts those that there are now.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Cut ends all connections until Mend.
func (p *Proxy) Cut() {
	p.change(func() { p.cut = true }, (*link).end)
}

// Mend lets new connections through again.
func (p *Proxy) Mend() { p.change(func() { p.cut = false }, nil) }

// Slow has everything arrive later, by half of delay to one and a half.
func (p *Proxy) Slow(delay time.Duration) { p.change(func() { p.delay = delay }, nil) }

// Lose loses everything that is sent until Recover.
func (p *Proxy) Lose() { p.change(func() { p.losing = true }, nil) }

// Recover ends Lose, and the connections that lost something.
func (p *Proxy) Recover() {
	p.change(func() { p.losing = false }, func(l *link) {
		if l.lost {
			l.end()
		}
	})
}

// Hold holds back what the present connections send until Deliver. It returns their number.
func (p *Proxy) Hold() (connections int) {
	p.change(nil, func(l *link) {
		connections++
		if l.held == nil {
			l.held = make(chan struct{})
		}
	})
	return connections
}

// Deliver delivers what was held back.
func (p *Proxy) Deliver() { p.change(nil, (*link).deliver) }

// change changes the proxy, and each of the present connections.
func (p *Proxy) change(proxy func(), each func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if proxy != nil {
		proxy()
	}
	if each != nil {
		for l := range p.links {
			each(l)
		}
	}
}

func (l *link) deliver() {
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

// end ends a connection at both ends.
func (l *link) end() {
	l.deliver()
	l.close()
}

func (l *link) close() {
	_, _ = l.client.Close(), l.server.Close() // nothing is left to be said
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // Close
		}
		p.running.Go(func() { p.carry(client) })
	}
}

// carry carries the bytes between a client and the server until one of them closes.
func (p *Proxy) carry(client net.Conn) {
	server, err := p.dial(p.open)
	if err != nil {
		_ = client.Close() // as if the server had done it
		return
	}
	l := &link{client: client, server: server}
	defer l.close()
	cut := false
	p.change(func() {
		if cut = p.cut; !cut {
			p.links[l] = struct{}{}
		}
	}, nil)
	if cut {
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.pass(l, client, server) })
	ways.Go(func() { p.pass(l, server, client) })
	ways.Wait()
	p.change(func() { delete(p.links, l) }, nil)
}

// pass passes bytes on one way, and in the end that there are no more.
func (p *Proxy) pass(l *link, from, to net.Conn) {
	defer l.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if p.arrives(l) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// arrives waits until what was sent arrives. It reports false if that is lost.
func (p *Proxy) arrives(l *link) bool {
	p.mu.Lock()
	delay, held := p.delay, l.held
	l.lost = l.lost || p.losing
	lost := l.lost
	p.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay/2 + rand.N(delay)):
		case <-p.open.Done():
		}
	}
	if held != nil {
		<-held
	}
	return !lost
}
