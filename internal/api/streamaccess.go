package api

import (
	"time"

	"github.com/labstack/echo/v4"
)

// A stream is admitted once and goes on. These functions notice when its caller would no longer be admitted.

// accessChanged returns a channel that is closed when the files of keys are read again; nil is never.
func (s *server) accessChanged() <-chan struct{} {
	if s.guard == nil {
		return nil
	}
	return s.guard.Changed()
}

// stillAdmitted reports whether the caller of a stream would be admitted now.
func (s *server) stillAdmitted(c echo.Context) bool {
	caller, err := s.identify(c.Request())
	return err == nil && caller.ID == callerOf(c).ID && buyers.refusal(caller) == ""
}

// expiry returns a channel that fires when the token of a stream's caller expires. done stops the timer.
func (s *server) expiry(c echo.Context) (expired <-chan time.Time, done func() bool) {
	until := callerOf(c).Until
	if until.IsZero() {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(time.Until(until))
	return timer.C, timer.Stop
}
