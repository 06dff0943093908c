package load

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAGeneratorThatDidNotKeepUpIsTold has a hundred requests, all due at the start.
func TestAGeneratorThatDidNotKeepUpIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply Reply
		says  []string
	}{
		"in time":      {Reply{Sent: ms, Over: 500 * ms, Outcome: Accepted}, nil},
		"late":         {Reply{Sent: 20 * ms, Over: 30 * ms, Outcome: Accepted}, []string{"the generator did not keep up: 1% of its sends were 20 ms late"}},
		"queued a bit": {Reply{Sent: 20 * ms, Over: 30 * ms, Outcome: Accepted, Queued: true}, nil},
		"all busy":     {Reply{Sent: 80 * ms, Over: 90 * ms, Outcome: Accepted, Queued: true}, []string{"because all connections were busy"}},
		"dropped":      {Reply{Over: time.Second, Outcome: Dropped, Queued: true}, []string{"100 requests were dropped"}},
	} {
		r := &Result{Load: Load{At: make([]time.Duration, 100)}, Replies: slices.Repeat([]Reply{c.reply}, 100)}
		got := r.Warnings("")
		if len(got) != len(c.says) || len(got) > 0 && !strings.Contains(got[0], c.says[0]) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}

// TestWhoWasDroppedIsInTheTable has ninety answered at once, and ten dropped after a second.
func TestWhoWasDroppedIsInTheTable(t *testing.T) {
	t.Parallel()
	r := &Result{Load: Load{At: make([]time.Duration, 100)}}
	for i := range r.At {
		r.Replies = append(r.Replies, Reply{Sent: ms, Over: 2 * ms, Outcome: Accepted})
		if i >= 90 {
			r.Replies[i] = Reply{Over: time.Second, Outcome: Dropped}
		}
	}
	rows := r.OutcomeSection().Table.Rows
	if all := rows[len(rows)-1]; len(rows) != 3 || rows[0][5] != "2" || all[1] != "100" || all[3] != "2" || !strings.HasPrefix(all[5], "1,00") {
		t.Errorf("%q", rows)
	}
}
