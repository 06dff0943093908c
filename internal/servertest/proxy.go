//go:build unix

package servertest

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Proxy stands between clients and a server, like a network. Its connections can
// go dark: they accept what is sent, and deliver nothing, not even that an end
// has closed. Connections made later work.
type Proxy struct {
	listener net.Listener
	server   string
	mutex    sync.Mutex
	closed   bool
	links    map[*link]struct{}
	running  sync.WaitGroup
}

// link is one connection of a client through a proxy.
type link struct {
	ends [2]net.Conn
	dark chan struct{} // closed when the dark ends; nil: it is not dark
}

// StartProxy starts a proxy for the server at an address.
func StartProxy(ctx context.Context, server string) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a proxy: %w", err)
	}
	p := &Proxy{listener: listener, server: server, links: make(map[*link]struct{})}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address for clients, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Connections returns how many connections there are now.
func (p *Proxy) Connections() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.links)
}

// Darken makes the present connections go dark, and returns their number.
func (p *Proxy) Darken() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for l := range p.links {
		if l.dark == nil {
			l.dark = make(chan struct{})
		}
	}
	return len(p.links)
}

// Lighten delivers the bytes that were held back, and ends the dark.
func (p *Proxy) Lighten() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for l := range p.links {
		l.lighten()
	}
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	p.mutex.Lock()
	p.closed = true
	err := p.listener.Close()
	for l := range p.links {
		l.lighten()
		l.close()
	}
	p.mutex.Unlock()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.join(client) })
	}
}

// join carries the bytes between a client and the server, until one of them closes.
func (p *Proxy) join(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		client.Close()
		return
	}
	l := &link{ends: [2]net.Conn{client, server}}
	defer l.close()
	p.mutex.Lock()
	if p.closed {
		p.mutex.Unlock()
		return
	}
	p.links[l] = struct{}{}
	p.mutex.Unlock()
	var ways sync.WaitGroup
	ways.Go(func() { p.carry(l, client, server) })
	ways.Go(func() { p.carry(l, server, client) })
	ways.Wait()
	p.mutex.Lock()
	delete(p.links, l)
	p.mutex.Unlock()
}

func (p *Proxy) carry(l *link, from, to net.Conn) {
	defer l.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.wait(l)
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// wait waits while a link is dark.
func (p *Proxy) wait(l *link) {
	p.mutex.Lock()
	dark := l.dark
	p.mutex.Unlock()
	if dark != nil {
		<-dark
	}
}

func (l *link) lighten() {
	if l.dark != nil {
		close(l.dark)
		l.dark = nil
	}
}

func (l *link) close() {
	for _, end := range l.ends {
		end.Close()
	}
}
