package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a sale is: a bar on a terminal, and a line every second elsewhere.
type progress struct {
	bar  *progressbar.ProgressBar // nil where there is no terminal
	done atomic.Int64
	stop chan struct{}
	over chan struct{}
}

func newProgress(to io.Writer, total int) *progress {
	p := &progress{stop: make(chan struct{}), over: make(chan struct{})}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(to), progressbar.OptionSetDescription("buyers"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	go p.report(to, total)
	return p
}

// report prints until finish.
func (p *progress) report(to io.Writer, total int) {
	defer close(p.over)
	every := time.Second
	if p.bar != nil {
		every = 100 * time.Millisecond
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
		}
		if p.bar != nil {
			_ = p.bar.Set64(p.done.Load()) // a terminal that has gone is no reason to end a sale
		} else {
			_, _ = fmt.Fprintf(to, "%d of %d buyers served\n", p.done.Load(), total)
		}
	}
}

// add counts one buyer.
func (p *progress) add() { p.done.Add(1) }

// finish ends the report.
func (p *progress) finish() {
	close(p.stop)
	<-p.over
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
