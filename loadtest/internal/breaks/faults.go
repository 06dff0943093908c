package breaks

import (
	"context"
	"slices"

	"inventory/loadtest/internal/kinds"
)

// fault is a sequence of steps.
type fault struct {
	name   string // what the holder does
	steps  string // what happens, in a sentence
	holder job    // how it is set up
	// happens does the steps, and judges.
	happens func(ctx context.Context, t *trial) error
	breaks  []string // the locks whose known flaw it shows
	to      []string // the locks of others that it applies to; it applies to all of ours
}

// onRedis are the locks of others on Redis.
func onRedis() []string {
	return []string{kinds.SetNXExpire, kinds.SetPX, kinds.Signal, kinds.BSM, kinds.Redsync}
}

// leased are the holds that end by themselves.
func leased() []string { return append(onRedis(), kinds.RowExpiry, kinds.Document, kinds.Sequential) }

// faults are all, in the order of the report.
func faults() []fault {
	single := append(leased(), kinds.Row, kinds.Advisory) // the holder has a connection for itself
	short := job{Lease: lease, Session: lease}
	return []fault{
		{
			name:   "dies while it holds",
			steps:  "The process has the lock and gets SIGKILL. Somebody else waits.",
			holder: short, happens: dies, to: single, breaks: []string{kinds.Row},
		},
		{
			name: "stands still, then writes",
			steps: "The process has the lock, has read its row, and gets SIGSTOP. Somebody else gets the lock if it can, and sells 3 of 10 units. " +
				"The process goes on by SIGCONT, and writes what it meant to write: one unit less than it has read.",
			holder: short, happens: standsStill, to: single, breaks: leased(),
		},
		{
			name: "loses its unlock",
			steps: "The holder's network is gone while it unlocks, and back afterwards; nobody calls unlock again. Somebody else waits. " +
				"The holder's process lives on.",
			holder: job{Lease: lease, Session: longSession}, happens: unlockIsLost, to: single, breaks: []string{kinds.Row, kinds.Sequential},
		},
		{
			name: "loses its connection",
			steps: "The holder has read its row when all its connections are cut; new ones work. Somebody else gets the lock if it can, and " +
				"sells 3 of 10 units. The holder writes what it meant to write, and unlocks.",
			holder: job{Lease: long, Session: longSession}, happens: connectionIsCut, to: single, breaks: []string{kinds.Advisory},
		},
	}
}

// happensTo reports whether a fault applies to a lock.
func (f fault) happensTo(k kinds.Kind) bool {
	return k.Ours || slices.Contains(f.to, k.Name)
}

// Names are those of all faults.
func Names() (names []string) {
	for _, f := range faults() {
		names = append(names, f.name)
	}
	return names
}
