package gauges

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"
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
	return Reading{values: map[Quantity]float64{cpu(c.of): seconds}}, nil
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

// ticks is how finely Linux counts the processor time of other processes: a second has a hundred, on all that Go runs on.
const ticks = 100

func statOf(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	stat, err := process.Stat()
	if err != nil {
		return procfs.ProcStat{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return stat, nil
}

// family is, on Linux, the processor time of a process and its children, also of those that have ended, which gopsutil does not
// tell. A child that ends while they are looked at would be counted twice, or not at all: then it looks again.
func family(pid int) func(context.Context) (float64, error) {
	return func(context.Context) (float64, error) {
		for {
			before, err := statOf(pid)
			if err != nil {
				return 0, err
			}
			seconds := before.CPUTime()
			all, err := procfs.AllProcs()
			if err != nil {
				return 0, fmt.Errorf("list the processes: %w", err)
			}
			for _, process := range all {
				stat, err := process.Stat()
				if err == nil && stat.PPID == pid { // an error: it has ended
					seconds += stat.CPUTime()
				}
			}
			after, err := statOf(pid)
			if err != nil {
				return 0, err
			}
			if gone := after.CUTime + after.CSTime; gone == before.CUTime+before.CSTime {
				return seconds + float64(gone)/ticks, nil
			}
		}
	}
}
