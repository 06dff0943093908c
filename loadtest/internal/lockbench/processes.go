package lockbench

import (
	"context"
	"time"

	"inventory/loadtest/internal/report"
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
func severalProcesses(ctx context.Context, b *bench) ([]Contender, error) {
	jobs := make([]job, threeProcesses)
	for i := range jobs {
		jobs[i] = job{Callers: eachProcess, Window: b.scale.Window}
	}
	return b.rounds(ctx, b.contest("processes", b.crowdKinds(), jobs, func(accounts []account) (Figures, string) {
		return together(accounts, b.scale.Window)
	})), nil
}

func severalProcessesTargets(c Case) []report.Target {
	mutex := c.find(mutexName)
	return []report.Target{report.AtLeast("Jain's index over the processes", mutex[Fairness], 0.95)}
}

// loneCaller measures how long one caller waits while 64 goroutines of another process keep the lock busy.
func loneCaller(ctx context.Context, b *bench) ([]Contender, error) {
	lone := job{Callers: 1, Window: b.scale.Window, Think: lonePause}
	busy := job{Callers: b.scale.Crowd, Window: b.scale.Window}
	return b.rounds(ctx, b.contest("lone", loneCallerKinds(), []job{lone, busy}, func(accounts []account) (Figures, string) {
		f, note := together(accounts[:1], b.scale.Window)
		f[BusyPerSecond] = float64(accounts[1].sum()) / b.scale.Window.Seconds()
		f[Violations] += float64(accounts[1].Violations)
		if note == "" {
			note = accounts[1].Note
		}
		return f, note
	})), nil
}

func loneCallerTargets(c Case) []report.Target {
	return []report.Target{report.AtMost("the lone caller's wait, p99 ms", c.find(mutexName)[WaitP99], 5)}
}
