package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestFailuresThatRepeatAreCounted: two thousand failures are eleven lines, and the last line has the number of the missing ones.
func TestFailuresThatRepeatAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told lockedText
		sampled := newQuiet(slog.NewTextHandler(&told, nil), &outage{})
		log := slog.New(sampled)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go sampled.watch(ctx)
		for i := range 1000 {
			log.Warn("request failed", "n", i)
			log.With("from", "elsewhere").Warn("request failed", "n", i)
			log.Info("as it was", "n", i)
		}
		log.Error("once")
		want := func(failed, others int, last string) {
			t.Helper()
			lines := told.String()
			if got := strings.Count(lines, "request failed"); got != failed {
				t.Errorf("%d lines, want %d", got, failed)
			}
			if got := strings.Count(lines, "\n") - failed; got != others {
				t.Errorf("%d other lines, want %d", got, others)
			}
			if !strings.Contains(lines, last) {
				t.Errorf("no %q in %s", last, lines[max(0, len(lines)-300):])
			}
		}
		want(sampleFirst, 1001, "msg=once")
		time.Sleep(sampleWithin)
		synctest.Wait()
		want(sampleFirst+1, 1001, `msg="request failed" repeated=1990`)
		log.Warn("request failed", "n", -1) // a new window
		want(sampleFirst+2, 1001, "n=-1")
		for i := range 20 {
			log.Warn("request failed", "n", i)
		}
		end()
		synctest.Wait()
		want(2*sampleFirst+2, 1001, "repeated=11")
	})
}

// lockedText is a text to which several goroutines may write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestMessagesWithoutEndAreNotRemembered: the number of messages is bounded.
func TestMessagesWithoutEndAreNotRemembered(t *testing.T) {
	t.Parallel()
	sampled := newQuiet(slog.DiscardHandler, &outage{})
	log := slog.New(sampled)
	for i := range 2 * sampleKinds {
		log.Warn(fmt.Sprint("message ", i))
	}
	line := slog.NewRecord(time.Time{}, slog.LevelWarn, "one more", 0)
	if err := sampled.Handle(t.Context(), line); err != nil || len(sampled.repeats.lines) > sampleKinds {
		t.Errorf("%d messages are remembered, %v", len(sampled.repeats.lines), err)
	}
}
