//go:build !unix

package worker

import (
	"errors"
	"os"
	"os/exec"
)

var errNoSignals = errors.New("it needs a Unix")

// Stop makes the process stand still until Continue.
func (*Process) Stop() error { return errNoSignals }

// Continue lets a process go on that stands still.
func (*Process) Continue() error { return errNoSignals }

// interrupt ends a process: there is no way to ask it.
func interrupt(p *os.Process) error { return p.Kill() }

// setApart does nothing: there are no groups.
func setApart(*exec.Cmd) {}
