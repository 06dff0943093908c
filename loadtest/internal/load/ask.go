package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"inventory/loadtest/internal/history"
)

// Persistence is how a caller asks until the answer is final. The zero value asks all processes in turn, for
// DefaultPersistence.
type Persistence struct {
	First  int                  // the process that gets the first request
	Next   func(before int) int // the one after; nil: the next one
	Silent bool                 // no deadline is sent along
	For    time.Duration        // no attempt begins later than this; 0: DefaultPersistence
	Tries  int                  // at most; 0: any number
	Pause  func() time.Duration // before the next request; nil: a tenth of a second
	Finish bool                 // the end of the context ends it only if there is no answer at all
}

// DefaultPersistence is how long a caller repeats requests without a final answer.
const DefaultPersistence = 20 * time.Second

// ErrNoAnswer says that no answer was final for as long as the caller repeated its request.
var ErrNoAnswer = errors.New("no final answer")

// Ask does an operation: it asks until the answer is final, and notes each attempt. A refusal is final if all attempts before it
// were over.
func (s *Services) Ask(ctx context.Context, o *history.Operation, p Persistence) (history.Answer, error) {
	attempts, err := s.askOn(ctx, NewRequest(o), p, o.Attempts...)
	o.Attempts = attempts
	if err != nil {
		return history.Answer{}, err
	}
	return attempts[len(attempts)-1].Answer, nil
}

// Do does an operation that must be accepted.
func (s *Services) Do(ctx context.Context, o *history.Operation, p Persistence) error {
	answer, err := s.Ask(ctx, o, p)
	if err == nil && !answer.Accepted() {
		err = problem(answer)
	}
	return err
}

// askOn repeats requests until the answer is final, after some attempts.
func (s *Services) askOn(ctx context.Context, r Request, p Persistence, attempts ...history.Attempt) ([]history.Attempt, error) {
	began, process, waiting := time.Now(), p.First, ctx
	if p.Finish {
		waiting = context.WithoutCancel(ctx)
	}
	var last error
	for try := 1; ; try++ {
		before := s.Promise.Over(attempts)
		a, err := s.Try(process, r, !p.Silent)
		attempts = append(attempts, a)
		pause := 100 * time.Millisecond
		if p.Pause != nil {
			pause = p.Pause()
		}
		switch {
		case a.Answer.Status == http.StatusConflict && before.After(a.Sent):
			pause, last = time.Until(before)+time.Millisecond, problem(a.Answer)
		case a.Answer.Accepted() || a.Answer.Refused():
			return attempts, nil
		case err != nil:
			last = err
		default:
			last = problem(a.Answer)
		}
		over := p.Tries > 0 && try >= p.Tries || time.Since(began) > cmp.Or(p.For, DefaultPersistence)
		if over || !Sleep(waiting, pause) || ctx.Err() != nil && err != nil {
			return attempts, fmt.Errorf("%w: %w", ErrNoAnswer, last)
		}
		process = (process + 1) % len(s.URLs)
		if p.Next != nil {
			process = p.Next(attempts[len(attempts)-1].Process)
		}
	}
}

// Sleep waits. It reports false if ctx ends before.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
