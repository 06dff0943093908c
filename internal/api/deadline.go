package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// headerDeadline is the header of the instant after which nothing may be written for a request. It is an instant, so a
// request that took long to arrive is late wherever it waited.
const headerDeadline = "Request-Deadline"

// deadlineOf returns the instant after which nothing may be written for a request that has just been read.
func (s *server) deadlineOf(r *http.Request) (time.Time, error) {
	now := time.Now()
	latest := now.Add(s.answerWithin)
	switch given := r.Header[headerDeadline]; len(given) {
	case 0:
		return latest, nil
	case 1:
		at, err := instant(headerDeadline, field[string]{value: given[0], set: true})
		if err != nil {
			return time.Time{}, err
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

// bounded ends a handler that writes at the deadline of its request.
func (s *server) bounded(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		deadline, err := s.deadlineOf(r)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithDeadline(r.Context(), deadline)
		defer cancel()
		c.SetRequest(r.WithContext(waitUntil(ctx, deadline)))
		return next(c)
	}
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
