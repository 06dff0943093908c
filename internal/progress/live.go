package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Live shows the progress of a run of a known length: a bar with a line of text on a terminal, otherwise a line every few
// seconds. It is for one goroutine.
type Live struct {
	to    io.Writer
	total time.Duration
	bar   *progressbar.ProgressBar // nil if there is no terminal
	shown time.Duration            // when the last line was printed
}

// every is the time between lines if there is no terminal.
const every = 5 * time.Second

// NewLive starts to show a run that will take total.
func NewLive(to io.Writer, total time.Duration) *Live {
	l := &Live{to: to, total: max(total, 1), shown: -every}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		l.bar = progressbar.NewOptions64(int64(l.total), progressbar.OptionSetWriter(to), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false), progressbar.OptionSetWidth(10))
	}
	return l
}

// Show shows a text when done of the total has passed. Errors of a broken terminal or pipe do not end a run.
func (l *Live) Show(done time.Duration, text string) {
	done = min(max(done, 0), l.total)
	left := (l.total - done).Round(time.Second)
	if l.bar != nil {
		_ = l.bar.Set64(int64(done))
		l.bar.Describe(fmt.Sprintf("%s, %v left", text, left))
		return
	}
	if done-l.shown < every {
		return
	}
	l.shown = done
	_, _ = fmt.Fprintf(l.to, "%3.0f%%, %v left: %s\n", 100*float64(done)/float64(l.total), left, text)
}

// Finish clears the bar, even if not all is done.
func (l *Live) Finish() {
	if l.bar != nil {
		_ = l.bar.Finish()
	}
}
