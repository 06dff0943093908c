package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// A caller that hangs up is not our error: the request is counted as client_gone, and not logged. Usually the caller
// reads no answer. A caller that has closed only its half of the connection still reads: it gets the answer of a request
// with an unknown outcome.
const (
	statusHungUp            = 499 // the number that proxies use
	codeHungUp   stock.Code = "client_gone"
)

// halfCloseWithin is how long after its request a caller that reads on ends its sending side, at most.
const halfCloseWithin = 40 * time.Millisecond

// Connection carries requests, and knows whether the caller at its other end has hung up.
//
// A caller that has reset its connection has hung up. One that has ended its sending side may have hung up, or reads on: the
// two look the same until something is sent. Callers that read on end their side right after their request. So a caller
// counts as one that reads on if it has done that, and otherwise as one that has hung up.
type Connection struct {
	socket   syscall.RawConn  // nil: there is no socket to check
	check    func(fd uintptr) // notes in gone what the socket says; made once, since it is called for every request
	gone     atomic.Bool      // the caller has hung up
	admitted atomic.Bool      // a request of an admitted caller has come
}

type connectionKey struct{}

// NewConnection returns what is known of a connection.
func NewConnection(conn net.Conn) *Connection {
	c := &Connection{}
	c.check = func(fd uintptr) {
		if hasHungUp(fd) {
			c.gone.Store(true)
		}
	}
	if inside, ok := conn.(syscall.Conn); ok {
		c.socket, _ = inside.SyscallConn() // fails if it is closed, and so does every use
	}
	return c
}

// ConnContext is for [http.Server.ConnContext]. With it a write checks the socket of its caller. If the process stopped
// while a request waited, net/http notices too late that its caller has hung up.
func ConnContext(ctx context.Context, c *Connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

func connectionIn(ctx context.Context) *Connection {
	c, _ := ctx.Value(connectionKey{}).(*Connection)
	return c
}

// hungUp reports whether the caller has hung up.
func (c *Connection) hungUp() bool {
	if c == nil || c.socket == nil {
		return false
	}
	if c.gone.Load() || c.socket.Control(c.check) != nil { // it fails if the connection is closed at this end
		return true
	}
	return c.gone.Load()
}

// AwaitHangUp is for who has read the end of input. It returns io.EOF when the caller has hung up, and the error of the
// connection if that is closed or its deadline for reading comes.
func (c *Connection) AwaitHangUp() error {
	if c.socket == nil || !knowsHalfClose {
		return io.EOF
	}
	err := c.socket.Read(func(fd uintptr) bool {
		c.check(fd)
		return c.gone.Load()
	})
	if err != nil {
		return err
	}
	return io.EOF
}

// Admitted reports whether the connection has had a request of an admitted caller.
func (c *Connection) Admitted() bool { return c.admitted.Load() }

// Admit notes a request of an admitted caller.
func (c *Connection) Admit() {
	if c != nil {
		c.admitted.Store(true)
	}
}

// errHungUp is the cause of errors in reading from a caller that hung up.
var errHungUp = errors.New("the caller hung up")

// hungUp is the error of a request whose caller hung up before it was answered, and which failed because of that.
type hungUp struct{ error }

// Unwrap returns what failed.
func (e hungUp) Unwrap() error { return e.error }

// hungUpOr returns err as a hungUp if the request failed because its caller hung up. It knows that from the caller's
// context, which net/http then ends, and from the connection, which may show it earlier. A request that ran out of our
// own time, or whose database failed, failed because of that, even if its caller has left meanwhile.
func hungUpOr(caller context.Context, err error) error {
	cancelled := errors.Is(err, errHungUp) || errors.Is(err, context.Canceled) && stock.CodeOf(err) == stock.CodeUnavailable
	if cancelled && errors.Is(waitUntil(caller, time.Time{}).Err(), context.Canceled) {
		return hungUp{err}
	}
	return err
}

func isHungUp(err error) bool {
	_, gone := errors.AsType[hungUp](err)
	return gone
}

// headerDeadline is the header of the instant after which nothing may be written for a request. It is an instant, so a
// request that took long to arrive is late wherever it waited.
const headerDeadline = "Request-Deadline"

// deadlineOf returns the instant after which nothing may be written for a request that has just been read.
func (s *server) deadlineOf(r *http.Request) (time.Time, error) {
	now := time.Now()
	latest := now.Add(s.Service.AnswerWithin())
	switch given := r.Header[headerDeadline]; len(given) {
	case 0:
		return latest, nil
	case 1:
		at, ok := instant(given[0])
		if !ok {
			return time.Time{}, invalid(headerDeadline, mustBeInstant)
		}
		// From here on the monotonic clock counts, because a wall clock may be set.
		switch asked := now.Add(at.Sub(now)); {
		case asked.Before(now):
			return time.Time{}, &stock.Error{Code: codeTimeout, Message: "the request came after its deadline; nothing was written"}
		case asked.Before(latest):
			return asked, nil
		default:
			return latest, nil
		}
	default:
		return time.Time{}, invalid(headerDeadline, "must be there once")
	}
}

// queued is the handler of a route whose requests wait for a worker. The deadline is read before the body, which may take time.
func (s *server) queued(next change) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		deadline, err := s.deadlineOf(r)
		if err != nil {
			return err
		}
		c.SetRequest(r.WithContext(waitUntil(r.Context(), deadline)))
		created, answer, err := next(c)
		return send(c, created, answer, err)
	}
}

// bounded is the handler of any other route that writes: a timer ends it at the deadline.
func (s *server) bounded(next change) echo.HandlerFunc {
	return s.queued(func(c echo.Context) (created bool, answer any, err error) {
		r := c.Request()
		deadline, _ := r.Context().Deadline()
		ctx, cancel := context.WithDeadline(r.Context(), deadline)
		defer cancel()
		c.SetRequest(r.WithContext(waitUntil(ctx, deadline)))
		return next(c)
	})
}

// waiting is the context of a request in a worker's queue. It has no timer for its deadline: workers watch the deadlines
// of all their orders together, and a timer for each order would cost more than the rest of its context. Its Err checks
// the caller's connection itself.
type waiting struct {
	context.Context
	deadline   time.Time
	connection *Connection // nil: there is none to check
}

func waitUntil(ctx context.Context, deadline time.Time) waiting {
	return waiting{ctx, deadline, connectionIn(ctx)}
}

// Deadline implements [context.Context].
func (w waiting) Deadline() (time.Time, bool) { return w.deadline, true }

// Err implements [context.Context].
func (w waiting) Err() error {
	if err := w.Context.Err(); err != nil {
		return err
	}
	if w.connection.hungUp() {
		return context.Canceled
	}
	return nil
}
