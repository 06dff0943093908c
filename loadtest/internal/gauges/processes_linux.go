package gauges

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// ticks is how finely Linux counts the processor time of other processes: a second has a hundred, on all that Go runs on.
const ticks = 100

// oneByOne is the processor time of processes without their children.
func oneByOne(pids []int) (seconds float64, err error) {
	for _, pid := range pids {
		stat, err := statOf(pid)
		if err != nil {
			return 0, err
		}
		seconds += stat.CPUTime()
	}
	return seconds, nil
}

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

// everybody is the processor time of all processes of the machine, and of its kernel.
func everybody([]int) (seconds float64, err error) {
	system, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("look at the machine: %w", err)
	}
	stat, err := system.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at the machine: %w", err)
	}
	all := stat.CPUTotal
	return all.User + all.Nice + all.System + all.IRQ + all.SoftIRQ + all.Steal, nil
}

// withChildren is the processor time of processes with that of their children: those that run, and those that have ended.
func withChildren(pids []int) (seconds float64, err error) {
	for _, pid := range pids {
		one, err := family(pid)
		if err != nil {
			return 0, err
		}
		seconds += one
	}
	return seconds, nil
}

// family is the processor time of a process and its children. A child that ends while they are looked at would be counted
// twice, or not at all: then it looks again.
func family(pid int) (float64, error) {
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
