package progress

import (
	"strings"
	"sync"
	"testing"
)

func TestProgressIsTenLinesWithoutATerminal(t *testing.T) {
	t.Parallel()
	for total, want := range map[int]int{1: 1, 7: 7, 10: 10, 12345: 10} {
		var out strings.Builder
		p := New(&out, "things", total)
		var all sync.WaitGroup
		for range total {
			all.Go(p.Add)
		}
		all.Wait()
		p.Finish()
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("of %d: %d lines instead of %d:\n%s", total, got, want, &out)
		}
	}
}
