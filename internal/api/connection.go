package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// A caller that hangs up is not our error: the request is counted as client_gone, and not logged.
const (
	statusHungUp            = 499 // the number that proxies use
	codeHungUp   stock.Code = "client_gone"
)

type admittedKey struct{}

// WithAdmitted returns a context for [http.Server.ConnContext]: admitted becomes true with the first request of an admitted
// caller on the connection.
func WithAdmitted(ctx context.Context, admitted *atomic.Bool) context.Context {
	return context.WithValue(ctx, admittedKey{}, admitted)
}

func noteAdmitted(ctx context.Context) {
	if admitted, ok := ctx.Value(admittedKey{}).(*atomic.Bool); ok {
		admitted.Store(true)
	}
}

// errHungUp is among the errors of a request that failed because its caller hung up before it was answered.
var errHungUp = errors.New("the caller hung up")

// hungUpOr adds errHungUp to err if the request failed because its caller hung up: net/http has ended the caller's context. A
// request that ran out of our own time, or whose database failed, failed because of that, even if its caller has left meanwhile.
func hungUpOr(caller context.Context, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(caller.Err(), context.Canceled) {
		return errors.Join(errHungUp, err)
	}
	return err
}

// headerDeadline is the header of the instant after which nothing may be written for a request. It is an instant, so a
// request that took long to arrive is late wherever it waited.
const headerDeadline = "Request-Deadline"

// deadlineOf returns the instant after which nothing may be written for a request that has just been read.
func (s *server) deadlineOf(r *http.Request) (time.Time, error) {
	now := time.Now()
	left, given := s.Service.AnswerWithin(), r.Header[headerDeadline]
	if len(given) > 0 {
		at, ok := instant([]byte(strconv.Quote(given[0])))
		if !ok || len(given) > 1 {
			return now, invalid(headerDeadline, mustBeInstant)
		}
		left = min(left, at.Sub(now))
	}
	if left < 0 {
		return now, &stock.Error{Code: codeTimeout, Message: "the request came after its deadline; nothing was written"}
	}
	return now.Add(left), nil // by the monotonic clock, because a wall clock may be set
}

// writing is the handler of a route that writes by a deadline. The deadline is read before the body, which may take time. Orders that wait
// for a worker need no more: it watches their deadlines.
func (s *server) writing(next func(c echo.Context, deadline time.Time) (created bool, answer any, err error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		deadline, err := s.deadlineOf(c.Request())
		if err != nil {
			return err
		}
		created, answer, err := next(c, deadline)
		return send(c, created, answer, err)
	}
}

// bounded is the handler of any other route that writes: a timer ends it at the deadline.
func (s *server) bounded(next change) echo.HandlerFunc {
	return s.writing(func(c echo.Context, deadline time.Time) (created bool, answer any, err error) {
		ctx, end := context.WithDeadline(c.Request().Context(), deadline)
		defer end()
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	})
}
