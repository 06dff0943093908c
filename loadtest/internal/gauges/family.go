package gauges

import (
	"context"
	"fmt"

	"github.com/prometheus/procfs"
)

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

// family is, on Linux, the processor time of a process and its children, also of those that have ended, which gopsutil does not tell. A
// child that ends while they are looked at would be counted twice, or not at all: then it looks again.
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
