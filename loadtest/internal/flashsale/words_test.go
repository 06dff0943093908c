package flashsale

import (
	"strings"
	"testing"
	"time"

	"inventory/loadtest/internal/openloop"
)

// TestAGeneratorThatDidNotKeepUpIsTold has rounds of a hundred requests, all due at the start.
func TestAGeneratorThatDidNotKeepUpIsTold(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	all := func(r openloop.Reply) (replies []openloop.Reply) {
		for range 100 {
			replies = append(replies, r)
		}
		return replies
	}
	for name, c := range map[string]struct {
		replies []openloop.Reply
		says    []string
	}{
		"in time":      {all(openloop.Reply{Sent: ms, Over: 500 * ms, Outcome: openloop.Accepted}), nil},
		"late":         {all(openloop.Reply{Sent: 20 * ms, Over: 30 * ms, Outcome: openloop.Accepted}), []string{"the generator did not keep up: 1% of its sends were 20 ms late"}},
		"queued a bit": {all(openloop.Reply{Sent: 20 * ms, Over: 30 * ms, Outcome: openloop.Accepted, Queued: true}), nil},
		"all busy":     {all(openloop.Reply{Sent: 80 * ms, Over: 90 * ms, Outcome: openloop.Accepted, Queued: true}), []string{"because all 7 connections were busy"}},
		"dropped":      {all(openloop.Reply{Over: time.Second, Outcome: openloop.Dropped, Queued: true}), []string{"100 requests were dropped"}},
	} {
		r := &round{result: openloop.Result{At: make([]time.Duration, len(c.replies)), Replies: c.replies}}
		r.account.counts = r.result.All()
		s := &sale{Config: Config{Connections: 7}, rounds: []*round{r}}
		got := s.warnings()
		if len(got) != len(c.says) || len(got) > 0 && !strings.Contains(got[0], c.says[0]) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
