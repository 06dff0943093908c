//go:build !unix

package worker

import "errors"

var errNoSignals = errors.New("it needs a Unix")

// Stop makes the process stand still until Continue.
func (*Process) Stop() error { return errNoSignals }

// Continue lets a process go on that stands still.
func (*Process) Continue() error { return errNoSignals }
