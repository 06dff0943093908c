package gauges

import (
	"context"
	"fmt"
	"os"
	"time"

	machine "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// clock reads processor time.
type clock struct {
	title   string
	of      Process
	seconds func(ctx context.Context) (float64, error)
}

func (c clock) name() string { return c.title }

func (c clock) read(ctx context.Context, _ bool) (Reading, error) {
	seconds, err := c.seconds(ctx)
	if err != nil {
		return Reading{}, err
	}
	return Reading{values: map[quantity]float64{cpu(c.of): seconds}}, nil
}

func (clock) close(context.Context) error { return nil }

// alone is the processor time of a process without its children.
func alone(pid int) func(ctx context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		p, err := process.NewProcessWithContext(ctx, int32(pid)) //nolint:gosec // the system's own number
		if err != nil {
			return 0, fmt.Errorf("look at process %d: %w", pid, err)
		}
		times, err := p.TimesWithContext(ctx)
		if err != nil {
			return 0, fmt.Errorf("look at process %d: %w", pid, err)
		}
		return times.User + times.System, nil
	}
}

// everybody is the processor time of all processes of the machine, and of its kernel.
func everybody(ctx context.Context) (float64, error) {
	all, err := machine.TimesWithContext(ctx, false)
	if err != nil {
		return 0, fmt.Errorf("look at the machine: %w", err)
	}
	t := all[0]
	return t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal, nil
}

// OwnCPU is what this process has used of processors.
func OwnCPU(ctx context.Context) (time.Duration, error) {
	seconds, err := alone(os.Getpid())(ctx)
	return time.Duration(seconds * float64(time.Second)), err
}
