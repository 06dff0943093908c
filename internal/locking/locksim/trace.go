package locksim

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// trace is what happened, in the order of time.
type trace struct {
	begin time.Time
	mu    sync.Mutex
	lines []line
}

type line struct {
	at   time.Duration
	text func() string
}

func (t *trace) add(text func() string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line{at: time.Since(t.begin), text: text})
}

var (
	longText  = regexp.MustCompile(`\b[A-Z2-7]{16,26}\b`)
	keyPrefix = regexp.MustCompile(`lk:\{b\d+\}:`)
	hashText  = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
)

// String returns a line for each thing that happened. Events of one moment are sorted, for they have
// no order. Processes and owners are shown by the first letters of their names.
func (t *trace) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	type said struct {
		at   time.Duration
		text string
	}
	list := make([]said, len(t.lines))
	for i, l := range t.lines {
		list[i] = said{l.at, l.text()}
	}
	slices.SortStableFunc(list, func(a, b said) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.text, b.text))
	})
	var b strings.Builder
	for _, s := range list {
		text := longText.ReplaceAllStringFunc(s.text, func(long string) string { return long[:4] })
		text = hashText.ReplaceAllString(keyPrefix.ReplaceAllString(text, ""), "")
		fmt.Fprintf(&b, "%12.6fms  %s\n", float64(s.at)/float64(time.Millisecond), text)
	}
	return b.String()
}

// note adds a line to the history.
func (w *World) note(format string, args ...any) {
	w.trace.add(func() string { return fmt.Sprintf(format, args...) })
}

// Trace tells the history.
func (w *World) Trace() string { return w.trace.String() }
