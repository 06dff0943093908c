package app

import (
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// heapGrowth lets the heap grow to five times the live heap instead of twice before the garbage collector runs.
const heapGrowth = 400

// memoryShare is the largest part of the container's or the machine's memory that the program uses.
const memoryShare = 0.8

// SpendMemory makes the process collect garbage less often, unless the environment sets GOGC. The live heap of this
// service is only a few MB, so under load the collector would run a hundred times a second, and scan the stack of every
// waiting request each time: a tenth of all processor time.
//
// With many connections the live heap is larger, so there is a limit: GOMEMLIMIT, or else a share of the container's or
// the machine's memory. Near it the collector runs as often as it must. Programs whose main job is the service call
// SpendMemory. A nil logger is none.
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
