package gauges

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// self is this process, which sends the load.
type self struct{}

func (self) name() string { return "the generator's process" }

func (self) read(ctx context.Context, into *Reading) error {
	used, err := OwnCPU(ctx)
	into.CPU[Generator] = used.Seconds()
	return err
}

func (self) close(context.Context) error { return nil }

// OwnCPU is what this process has used of processors.
func OwnCPU(ctx context.Context) (time.Duration, error) {
	p, err := process.NewProcessWithContext(ctx, int32(os.Getpid())) //nolint:gosec // the system's own number
	if err != nil {
		return 0, fmt.Errorf("ask for the processor time: %w", err)
	}
	times, err := p.TimesWithContext(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask for the processor time: %w", err)
	}
	return time.Duration((times.User + times.System) * float64(time.Second)), nil
}
