package app

import (
	"os"
	"runtime/debug"
)

// heapGrowth lets the heap grow to five times what is alive before the garbage collector runs, not to twice.
const heapGrowth = 400

// SpendMemory has the process collect garbage less often, unless the environment's GOGC says how often. What is alive
// in this service is little, a few MB, so the collector would run a hundred times a second under load, and look at
// the stack of every waiting request each time: a tenth of all processor time. It is for programs to call whose
// main job is the service.
func SpendMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
