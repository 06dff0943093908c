// Package busytest helps tests to pass on a machine of any speed, however busy it is.
//
// The rules for such a test, which rules_test.go checks where it can:
//
//   - It compares no real time with an upper bound. A duration that is the subject of a test is measured in virtual time
//     ([Virtual]), by counting the calls that must not happen, or beside a control in the same test.
//   - It waits with [Soon] or [Receive], which name what did not happen.
//   - It gives the service deadlines of [Patience], unless a deadline is its subject.
//   - It shares no buffer with something that runs: [Log] has a mutex.
package busytest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// Patience is how long a test waits for something that has to happen. It bounds no behaviour: it ends a test that would
// otherwise hang until the time of its package is over.
const Patience = 5 * time.Minute

// leastTries is how often Soon asks at least: on a machine that is very busy, what is asks may take a minute.
const leastTries = 20

// Soon waits until is returns true, and fails the test if that does not happen within Patience and leastTries. It says what did not
// happen: "the lock is free", for example. It may be called in virtual time.
func Soon(t testing.TB, what string, is func() bool) {
	t.Helper()
	pause := 100 * time.Microsecond
	end := time.Now().Add(Patience)
	for tries := 1; !is(); tries++ {
		if tries >= leastTries && time.Now().After(end) {
			t.Fatalf("after %s and %d tries this has not happened: %s", Patience, tries, what)
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// Receive returns the next value from a channel, or the zero value of a closed channel. It fails the test if none arrives
// within Patience, and says what did not arrive.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	over := time.NewTimer(Patience)
	defer over.Stop()
	select {
	case got := <-from:
		return got
	case <-over.C:
		t.Fatalf("after %s this has not arrived: %s", Patience, what)
		panic("unreachable")
	}
}

// Context returns a context that ends after Patience, or with the test.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Virtual runs a test in virtual time (testing/synctest), on one processor from then on. With several, two of them may run timers
// of the test at the same instant; the race detector takes them for one goroutine, and then tells races that are none, or ends the
// program (seen with Go 1.26.8; https://go.dev/issue/78156).
func Virtual(t *testing.T, test func(*testing.T)) {
	t.Helper()
	if runtime.GOMAXPROCS(0) > 1 {
		runtime.GOMAXPROCS(1)
	}
	synctest.Test(t, test)
}

// Main runs the tests of a package, and exits with status 1 if they leave a goroutine behind.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	if err := Leaks(options...); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leakTries is how often Leaks looks. goleak itself waits for a second, in which a busy machine may not end a goroutine.
const leakTries = 30

// Leaks returns an error if goroutines go on that should have ended. A connection pool of go-redis whose server is down may take
// longer: it looks once a second whether it has been closed.
func Leaks(options ...goleak.Option) (err error) {
	options = append(options, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
	for range leakTries {
		if err = goleak.Find(options...); err == nil {
			return nil
		}
	}
	return err
}

// Slow leaves a test out of the inner loop (go test -short): it takes long, or a whole service of its own.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: left out with -short")
	}
}

// Log is a text to which a running service or program writes while a test reads it. Its zero value is empty.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends p.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Logger returns a logger that writes lines of key=value pairs, of level info and above, to the log.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
