package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// TestFailuresThatRepeatAreCounted: two thousand failures are eleven lines, and the last line has the number of the missing ones.
func TestFailuresThatRepeatAreCounted(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		var told busytest.Log
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

// TestAnOutageExplainsFailures: while probes fail, and a bit longer, the failures of single requests are not logged. Others are.
func TestAnOutageExplainsFailures(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		var told busytest.Log
		var down error
		o := &outage{warnings: newWarnings(slog.New(slog.DiscardHandler)), ready: func(context.Context) error { return down }}
		log := slog.New(newQuiet(slog.NewTextHandler(&told, nil), o))
		unavailable := stock.Unavailable(errors.New("refused"), "write")
		logs := func(when string, err error, want bool) {
			t.Helper()
			before := told.String()
			if log.Warn("request failed", "error", err); (told.String() != before) != want {
				t.Errorf("%s: a failure is logged: %t, want %t", when, !want, want)
			}
		}
		logs("before the outage", unavailable, true)
		down = errors.New("down")
		for range 5 {
			if o.probe(t.Context()) {
				t.Error("the database is there")
			}
			time.Sleep(outageAfter)
			logs("within the outage", unavailable, false)
			logs("within the outage, for another reason", &stock.Error{Code: stock.CodeOverloaded}, true)
		}
		down = nil
		if !o.probe(t.Context()) {
			t.Error("the database is not there")
		}
		time.Sleep(time.Nanosecond)
		logs("after the outage", unavailable, true)
	})
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
