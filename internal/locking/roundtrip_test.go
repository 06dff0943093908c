package locking

import (
	"context"
	"errors"
	"testing"
	"time"

	"inventory/internal/locking/internal/server"
)

// A command that ends by its deadline has no answer, whoever hears of the deadline first: the command, or who waits
// for it.
func TestTimeOutIsNoAnswer(t *testing.T) {
	each(t, func(w *world) {
		l := w.locks()
		for range 2000 {
			_, err := server.Bounded(w.t.Context(), l.server, time.Now().Add(20*time.Microsecond), nil, func(ctx context.Context) (any, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			if !errors.Is(err, ErrNoAnswer) {
				w.t.Fatal(err)
			}
		}
	})
}
