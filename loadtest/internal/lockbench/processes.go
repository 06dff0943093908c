package lockbench

import (
	"context"
	"errors"
	"time"

	"inventory/loadtest/internal/experiment"
)

const (
	threeProcesses = 3
	eachProcess    = 16 // goroutines
	// lonePause is how long the lone caller stays away: it comes and goes, and does not compete for throughput.
	lonePause = time.Millisecond
)

// loneCallerKinds leave out one: a lone caller that polls every 50 ms is seldom seen.
func loneCallerKinds() []kind {
	return []kind{inventoryMutex(), bsm(time.Millisecond), redsyncKind(), advisory()}
}

// severalProcesses measures one lock between three processes of 16 goroutines each that do nothing under it.
func severalProcesses(_ context.Context, b *bench) ([]entrant, func() error, error) {
	jobs := make([]job, threeProcesses)
	for i := range jobs {
		jobs[i] = job{Callers: eachProcess, Window: b.scale.Window}
	}
	return b.contest("processes", b.crowdKinds(), jobs, func(accounts []account) (experiment.Sample, error) {
		return together(accounts, b.scale.Window)
	}), func() error { return nil }, nil
}

func severalProcessesTargets() []experiment.Target {
	return []experiment.Target{atLeast("Jain's index over the processes", experiment.Level(Fairness, mutexName), 0.95)}
}

// loneCaller measures how long one caller waits while 64 goroutines of another process keep the lock busy.
func loneCaller(_ context.Context, b *bench) ([]entrant, func() error, error) {
	lone := job{Callers: 1, Window: b.scale.Window, Think: lonePause}
	busy := job{Callers: b.scale.Crowd, Window: b.scale.Window}
	return b.contest("lone", loneCallerKinds(), []job{lone, busy}, func(accounts []account) (experiment.Sample, error) {
		f, err := together(accounts[:1], b.scale.Window)
		f[BusyPerSecond] = float64(accounts[1].sum()) / b.scale.Window.Seconds()
		f[Violations] += float64(accounts[1].Violations)
		return f, errors.Join(err, accounts[1].err())
	}), func() error { return nil }, nil
}

func loneCallerTargets() []experiment.Target {
	return []experiment.Target{atMost("the lone caller's wait, p99 ms", experiment.Level(WaitP99, mutexName), 5)}
}
