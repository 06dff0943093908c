package progress

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
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

func TestLiveIsALineEveryFewSecondsWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	l := NewLive(&out, 20*time.Second)
	for second := range 21 {
		l.Show(time.Duration(second)*time.Second, fmt.Sprintf("%d a second", second))
	}
	l.Finish()
	want := "  0%, 20s left: 0 a second\n 25%, 15s left: 5 a second\n 50%, 10s left: 10 a second\n" +
		" 75%, 5s left: 15 a second\n100%, 0s left: 20 a second\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}
