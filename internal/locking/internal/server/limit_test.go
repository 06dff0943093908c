package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A limit ends at its instant or with its parent, whichever comes first, for everybody who waits for it.
func TestLimit(t *testing.T) {
	for name, parentEnds := range map[string]time.Duration{"its own": time.Hour, "its parent's": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithTimeout(t.Context(), parentEnds)
				defer cancel()
				begin := time.Now()
				l := &limit{Context: parent, until: begin.Add(time.Minute)}
				defer l.close()
				want := min(parentEnds, time.Minute)
				if deadline, ok := l.Deadline(); !ok || deadline.Sub(begin) != want {
					t.Errorf("the deadline is after %s", deadline.Sub(begin))
				}
				if l.Done() != parent.Done() {
					t.Error("the first look costs a timer")
				}
				if l.Err() != nil {
					t.Error(l.Err())
				}
				<-l.Done()
				if took := time.Since(begin); took != want || !errors.Is(l.Err(), context.DeadlineExceeded) {
					t.Errorf("it ended after %s: %v", took, l.Err())
				}
			})
		})
	}
}
