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
	ids   *ids
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

// String returns a line for each thing that happened. What happened at one moment is sorted, for it has
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
		list[i] = said{l.at, string(t.ids.plain([]byte(l.text())))}
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

// ids gives the owners short names in the order in which they are first heard of. Their own are drawn from a
// source that no seed decides.
type ids struct {
	mu    sync.Mutex
	names map[string]string
}

var (
	ownerText  = regexp.MustCompile(`\b([A-Z2-7]{16,26}):([0-9a-z]{4,14})\b`)
	lengthText = regexp.MustCompile(`\$\d+\r\n`)
)

// plain returns what is said without what chance has put into it.
func (n *ids) plain(said []byte) []byte {
	return ownerText.ReplaceAllFunc(lengthText.ReplaceAll(said, nil), func(owner []byte) []byte {
		process := owner[:4] // enough to tell those of a history apart
		return fmt.Appendf(nil, "%s:%s", process, n.nameOf(string(owner)))
	})
}

// nameOf returns the short name of an owner.
func (n *ids) nameOf(owner string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := n.names[owner]
	if name == "" {
		name = fmt.Sprintf("w%d", len(n.names)+1)
		n.names[owner] = name
	}
	return name
}
