package app

import (
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// heapGrowth lets the heap grow to five times what is alive before the garbage collector runs, not to twice.
const heapGrowth = 400

// memoryShare is how much of what the container or the machine has the program takes at most.
const memoryShare = 0.8

// SpendMemory has the process collect garbage less often, unless the environment's GOGC says how often. What is alive
// in this service is little, a few MB, so the collector would run a hundred times a second under load, and look at
// the stack of every waiting request each time: a tenth of all processor time.
//
// With many connections more is alive, so there is a limit: of GOMEMLIMIT, or else a share of what the container has, or the
// machine. Near it the collector runs as often as it must. It is for programs to call whose main job is the service. A nil
// logger is none.
func SpendMemory(log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	limit, err := memlimit.Set(memlimit.WithRatio(memoryShare),
		memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
	if err != nil {
		log.Warn("memory is not limited: set GOMEMLIMIT", "error", err)
		return
	}
	log.Debug("memory is limited", "bytes", limit)
}
