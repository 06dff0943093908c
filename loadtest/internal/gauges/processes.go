package gauges

import (
	"context"
	"fmt"

	"github.com/prometheus/procfs"
	machine "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// clock reads processor time.
func clock(name string, of Process, seconds func(ctx context.Context) (float64, error)) gauge {
	return gauge{name: name, read: func(ctx context.Context) (Reading, error) {
		used, err := seconds(ctx)
		return Reading{values: map[Quantity]float64{cpu(of): used}}, err
	}}
}

// alone is the processor time of a process without its children.
func alone(pid int) func(ctx context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		times, err := (&process.Process{Pid: int32(pid)}).TimesWithContext(ctx) //nolint:gosec // the system's own number
		if err != nil {
			return 0, fmt.Errorf("look at process %d: %w", pid, err)
		}
		return times.User + times.System, nil
	}
}

// wholeMachine is the processor time of all processes of the machine, and of its kernel.
func wholeMachine(ctx context.Context) (float64, error) {
	all, err := machine.TimesWithContext(ctx, false)
	if err != nil {
		return 0, fmt.Errorf("look at the machine: %w", err)
	}
	t := all[0]
	return t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal, nil
}

// ticks is how finely Linux counts the processor time of other processes: a second has a hundred, on all that Go runs on.
const ticks = 100

func statOf(pid int) (stat procfs.ProcStat, err error) {
	process, err := procfs.NewProc(pid)
	if err == nil {
		stat, err = process.Stat()
	}
	if err != nil {
		return stat, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return stat, nil
}

// family is, on Linux, the processor time of a process and its children, with those that have ended, which gopsutil does not
// have. A child that ends during a reading would count twice or not at all: then all is read again.
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
