//go:build unix

package servertest

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// administratorPatience bounds a statement of an administrator, also on a server that is paused.
const administratorPatience = 2 * time.Minute

// An administrator runs statements in the maintenance database, one after the other, over one session that it keeps: a session of its
// own costs more than most statements. It has a goroutine of its own, so that tests in virtual time (testing/synctest) and others may
// share the session.
type administrator struct {
	mutex      sync.Mutex // a statement is under way
	closed     bool
	statements chan string
	results    chan error
	ended      chan struct{}
}

func newAdministrator(databaseURL string) *administrator {
	a := &administrator{statements: make(chan string), results: make(chan error), ended: make(chan struct{})}
	go a.serve(databaseURL)
	return a
}

// run runs a statement to its end, whatever becomes of the caller: half a database helps nobody.
func (a *administrator) run(statement string) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.closed {
		return errNotRunning
	}
	a.statements <- statement
	return <-a.results
}

// close ends the session, after the statement that is under way.
func (a *administrator) close() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !a.closed {
		a.closed = true
		close(a.statements)
		<-a.ended
	}
}

func (a *administrator) serve(databaseURL string) {
	defer close(a.ended)
	var session *pgx.Conn
	for statement := range a.statements {
		a.results <- func() (err error) {
			ctx, cancel := context.WithTimeout(context.Background(), administratorPatience)
			defer cancel()
			if session == nil || session.IsClosed() || session.Ping(ctx) != nil { // the server was started again
				if session, err = pgx.Connect(ctx, databaseURL); err != nil {
					return err
				}
			}
			_, err = session.Exec(ctx, statement)
			return err
		}()
	}
	if session != nil {
		_ = session.Close(context.Background()) // the server may be gone
	}
}
