//go:build unix

package gauges

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// self is this process, which sends the load.
type self struct{}

func (self) name() string { return "the generator's process" }

func (self) read(_ context.Context, into *Reading) error {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return fmt.Errorf("ask for the processor time: %w", err)
	}
	into.CPU[Generator] = time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	return nil
}

func (self) close(context.Context) error { return nil }
