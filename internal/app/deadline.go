package app

import (
	"net"
	"sync"
	"time"
)

const (
	deadlineTick = 250 * time.Millisecond // how late a deadline of a connection may be kept
	longAgo      = 1 << 30                // Unix time of 2004: an earlier deadline means now
)

// A patientListener returns connections that keep their deadlines a little late.
//
// net/http sets three or four deadlines for every request, seconds away, and sets nearly all again before they come.
// Each moves a timer among the timers of all connections, and together they took a twentieth of the service's processor
// time. Here a connection only notes its deadline, and one ticker checks all connections four times a second.
type patientListener struct {
	net.Listener

	mu    sync.Mutex
	conns map[*patientConn]struct{}
	stop  chan struct{}
	ticks sync.WaitGroup
}

func newPatientListener(l net.Listener) *patientListener {
	p := &patientListener{Listener: l, conns: make(map[*patientConn]struct{}), stop: make(chan struct{})}
	p.ticks.Go(p.tick)
	return p
}

// Accept waits for the next connection.
func (l *patientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &patientConn{Conn: conn, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	return c, nil
}

// stopTicking ends the ticker once no connection is left. Close does not: a drain begins with Close, and the requests in
// flight still have deadlines.
func (l *patientListener) stopTicking() {
	close(l.stop)
	l.ticks.Wait()
}

func (l *patientListener) tick() {
	ticker := time.NewTicker(deadlineTick)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case now := <-ticker.C:
			l.mu.Lock()
			for c := range l.conns {
				c.keep(now)
			}
			l.mu.Unlock()
		}
	}
}

// patientConn is a connection whose listener keeps its deadlines that are in the future.
type patientConn struct {
	net.Conn
	listener *patientListener

	mu          sync.Mutex
	read, write patience
}

// patience is one of a connection's two deadlines.
type patience struct {
	until time.Time // zero: none, or the connection itself keeps it
	kept  bool      // the connection itself has one
}

// SetReadDeadline sets when reads fail; the zero time is never.
func (c *patientConn) SetReadDeadline(t time.Time) error {
	return c.set(&c.read, t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline sets when writes fail; the zero time is never.
func (c *patientConn) SetWriteDeadline(t time.Time) error {
	return c.set(&c.write, t, c.Conn.SetWriteDeadline)
}

// SetDeadline sets both.
func (c *patientConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// set notes a deadline. It passes a deadline in the past on at once: that is how net/http interrupts a read.
func (c *patientConn) set(p *patience, t time.Time, keep func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.until = t
	if !t.IsZero() && t.Unix() < longAgo {
		p.until, p.kept = time.Time{}, true
		return keep(t)
	}
	if p.kept {
		p.kept = false
		return keep(time.Time{})
	}
	return nil
}

// keep gives the connection itself the deadlines that have come.
func (c *patientConn) keep(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range []struct {
		*patience
		keep func(time.Time) error
	}{{&c.read, c.Conn.SetReadDeadline}, {&c.write, c.Conn.SetWriteDeadline}} {
		if !p.until.IsZero() && !now.Before(p.until) {
			_ = p.keep(p.until) // fails only on a closed connection, which needs no deadline
			p.until, p.kept = time.Time{}, true
		}
	}
}

// Close closes the connection.
func (c *patientConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// NetConn returns the connection inside.
func (c *patientConn) NetConn() net.Conn { return c.Conn }

// CloseWrite ends the sending side, and leaves the other open.
func (c *patientConn) CloseWrite() error { return closeWrite(c.Conn) }
