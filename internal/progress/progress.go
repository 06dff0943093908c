// Package progress shows a person how far a run is: a bar on a terminal, otherwise a line for each tenth.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress counts what is done. It is safe for concurrent use.
type Progress struct {
	to    io.Writer
	what  string
	total int
	bar   *progressbar.ProgressBar // nil if there is no terminal

	mu   sync.Mutex
	done int
}

// lines is how many lines are printed if there is no terminal.
const lines = 10

// New starts to show the progress of total things.
func New(to io.Writer, what string, total int) *Progress {
	p := &Progress{to: to, what: what, total: total}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(to), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	return p
}

// Add counts one more thing done.
func (p *Progress) Add() { p.AddMany(1) }

// To says how many things are done.
func (p *Progress) To(done int) {
	p.mu.Lock()
	more := done - p.done
	p.mu.Unlock()
	p.AddMany(more)
}

// AddMany counts more things done. Errors of a broken terminal or pipe do not end a run.
func (p *Progress) AddMany(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(n, p.total-p.done) // the total may be an estimate
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add(n)
		return
	}
	if p.done*lines/p.total > (p.done-n)*lines/p.total {
		_, _ = fmt.Fprintf(p.to, "%s: %d of %d\n", p.what, p.done, p.total)
	}
}

// Finish clears the bar, even if not all is done.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
