package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// TestFailuresThatRepeatAreCounted: a thousand failures are eleven lines, and the last line has the number of the missing
// ones.
func TestFailuresThatRepeatAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told lockedText
		sampled := newQuiet(slog.NewTextHandler(&told, nil), &outage{})
		log := slog.New(sampled)
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
		want(sampleFirst+1, 1001, `from=elsewhere n=999 repeated=1990`)
		log.Warn("request failed", "n", -1) // a new window
		want(sampleFirst+2, 1001, "n=-1")
		for i := range 20 {
			log.Warn("request failed", "n", i)
		}
		sampled.samples.close()
		want(2*sampleFirst+2, 1001, "n=19 repeated=11")
		log.Warn("request failed", "n", "after")
		want(2*sampleFirst+3, 1001, "n=after")
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
	defer sampled.samples.close()
	log := slog.New(sampled)
	for i := range 2 * sampleKinds {
		log.Warn(fmt.Sprint("message ", i))
	}
	line := slog.NewRecord(time.Time{}, slog.LevelWarn, "one more", 0)
	if err := sampled.Handle(t.Context(), line); err != nil || len(sampled.samples.kinds) > sampleKinds {
		t.Errorf("%d messages are remembered, %v", len(sampled.samples.kinds), err)
	}
}

// TestAnOutageBeginsWithARequestThatOutlastsASilentStatement: requests that wait behind a statement run out of time before it does.
// Without a statement, or with one that has just been answered, they are logged as they are.
func TestAnOutageBeginsWithARequestThatOutlastsASilentStatement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told lockedText
		away := &outage{}
		sampled := newQuiet(slog.NewTextHandler(&told, nil), away)
		log := slog.New(sampled)
		away.warnings = newWarnings(log)
		failed := func(err error, logged, outages int) {
			t.Helper()
			log.Warn("request failed", "error", stock.Unavailable(err, "sell"))
			lines := told.String()
			if got := strings.Count(lines, "request failed"); got != logged {
				t.Errorf("%d requests were logged, want %d:\n%s", got, logged, lines)
			}
			if got := strings.Count(lines, "level=WARN msg=\"PostgreSQL fails"); got != outages {
				t.Errorf("%d outages were logged, want %d:\n%s", got, outages, lines)
			}
		}
		time.Sleep(time.Minute)
		failed(context.DeadlineExceeded, 1, 0) // nothing was asked

		batch := away.TraceBatchStart(t.Context(), nil, pgx.TraceBatchStartData{})
		failed(context.DeadlineExceeded, 2, 0) // just asked
		time.Sleep(outageOver)
		failed(context.Canceled, 3, 0) // its caller has gone
		query := away.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{})
		away.TraceQueryEnd(query, nil, pgx.TraceQueryEndData{})
		failed(context.DeadlineExceeded, 4, 0) // another one was answered

		time.Sleep(outageOver)
		query = away.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{})
		away.TraceQueryEnd(query, nil, pgx.TraceQueryEndData{Err: context.Canceled}) // that is no answer
		failed(context.DeadlineExceeded, 4, 1)
		failed(errors.New("no connection"), 4, 1)

		time.Sleep(outageOver)
		for range 2 { // as pgx may do
			away.TraceBatchEnd(batch, nil, pgx.TraceBatchEndData{})
		}
		time.Sleep(2*outageAfter + outageOver)
		failed(context.DeadlineExceeded, 5, 1) // the outage is over, and nothing was asked since
		connection := away.TraceConnectStart(t.Context(), pgx.TraceConnectStartData{})
		time.Sleep(outageOver)
		failed(context.DeadlineExceeded, 5, 2)
		away.TraceConnectEnd(connection, pgx.TraceConnectEndData{})
		time.Sleep(outageOver)
		query = away.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{})
		away.TraceQueryEnd(query, nil, pgx.TraceQueryEndData{})
		time.Sleep(2*outageAfter + outageOver)
		failed(context.DeadlineExceeded, 6, 2) // nothing is pending any more
		sampled.samples.close()
	})
}

// TestACallersOwnDeadlineIsNoOutage: whoever gives a request a few milliseconds has its statement cut off. PostgreSQL is there.
func TestACallersOwnDeadlineIsNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told lockedText
		away := &outage{warnings: newWarnings(slog.New(slog.NewTextHandler(&told, nil)))}
		statement := func(lasts time.Duration) {
			ctx := away.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{})
			time.Sleep(lasts)
			away.TraceQueryEnd(ctx, nil, pgx.TraceQueryEndData{Err: context.DeadlineExceeded})
		}
		time.Sleep(time.Minute)
		for range 10 {
			statement(20 * time.Millisecond)
		}
		if away.on.Load() || told.String() != "" {
			t.Errorf("callers with little time are an outage: %s", told.String())
		}
		statement(outageOver)
		if !away.on.Load() {
			t.Error("a statement that has no answer for a second is no outage")
		}
	})
}
