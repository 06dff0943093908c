package breaks

import (
	"context"
	"slices"

	"inventory/loadtest/internal/textbook"
)

// fault is something that happens to holders of locks.
type fault struct {
	name  string // what the holder does
	steps string // what happens, in a sentence
	// happens does it, and judges.
	happens func(ctx context.Context, t *trial) error
	// breaks are those locks whose known flaw it shows.
	breaks []string
	// others are the textbooks' locks that it can happen to beside.
	others []string
	// libraries tells whether it can happen to them.
	libraries bool
	// alone tells that it says something only of locks that let in one at a time.
	alone bool
}

// faults are all, in the order in which they are told.
func faults() []fault {
	return []fault{
		{
			name:      "dies while it locks",
			steps:     "The process gets SIGKILL when Redis has done the first command of its lock. Somebody else waits.",
			happens:   diesWhileItLocks,
			breaks:    []string{textbook.SetNXExpireName},
			others:    []string{textbook.SetPXName},
			libraries: true,
		},
		{
			name:    "dies while it holds",
			steps:   "The process has the lock and gets SIGKILL. Somebody else waits.",
			happens: diesWhileItHolds,
			breaks:  []string{textbook.RowName},
			others: []string{
				textbook.SetNXExpireName, textbook.SetPXName, textbook.RowExpiryName, textbook.AdvisoryName, textbook.SequentialName, textbook.DocumentName,
			},
			libraries: true,
		},
		{
			name: "stands still, then writes",
			steps: "The process has the lock, has read its row, and gets SIGSTOP. Somebody else gets the lock if it can, and sells 3 of 10 units. " +
				"The process goes on by SIGCONT, and writes what it meant to write: one unit less than it has read.",
			happens: standsStill,
			breaks: []string{
				textbook.SetNXExpireName, textbook.SetPXName, textbook.RowExpiryName, textbook.SequentialName, textbook.DocumentName, bsmName, redsyncName,
			},
			others:    []string{textbook.RowName, textbook.AdvisoryName},
			libraries: true,
		},
		{
			name: "unlocks too late",
			steps: "The process has the lock and gets SIGSTOP until somebody else has the lock. It goes on by SIGCONT, and unlocks. " +
				"Somebody third tries to lock.",
			happens:   unlocksTooLate,
			breaks:    []string{textbook.SetNXExpireName},
			others:    []string{textbook.SetPXName, textbook.RowExpiryName, textbook.SequentialName, textbook.DocumentName},
			libraries: true,
		},
		{
			name: "loses its unlock",
			steps: "The holder's network is gone while it unlocks, and back afterwards; nobody calls unlock again. Somebody else waits. " +
				"The holder's process lives on.",
			happens:   unlockIsLost,
			breaks:    []string{textbook.RowName, textbook.SequentialName},
			others:    []string{textbook.SetNXExpireName, textbook.SetPXName, textbook.RowExpiryName, textbook.AdvisoryName, textbook.DocumentName},
			libraries: true,
		},
		{
			name: "loses its connection",
			steps: "The holder has read its row when all its connections are cut; new ones work. Somebody else gets the lock if it can, and " +
				"sells 3 of 10 units. The holder writes what it meant to write, and unlocks.",
			happens: connectionIsCut,
			breaks:  []string{textbook.AdvisoryName},
			others: []string{
				textbook.SetNXExpireName, textbook.SetPXName, textbook.RowName, textbook.RowExpiryName, textbook.SequentialName, textbook.DocumentName,
			},
			libraries: true,
		},
		{
			name:      "shares a connection",
			steps:     "Two callers share a pool of one connection. One has the lock; the other one tries.",
			happens:   sharesConnection,
			alone:     true,
			breaks:    []string{textbook.PooledName},
			others:    []string{textbook.SetNXExpireName, textbook.SetPXName},
			libraries: true,
		},
		{
			name:      "unlocks over another connection",
			steps:     "Statements go over the two connections of a pool in turn: the unlock over another one than the lock. Somebody else waits.",
			happens:   unlocksElsewhere,
			breaks:    []string{textbook.PooledName},
			others:    []string{textbook.SetNXExpireName, textbook.SetPXName},
			libraries: true,
		},
	}
}

// happensTo tells whether a fault can happen to a lock.
func (f fault) happensTo(c contender) bool {
	return c.ours && !(f.alone && c.shared) || slices.Contains(f.breaks, c.name) || slices.Contains(f.others, c.name) ||
		f.libraries && (c.name == bsmName || c.name == redsyncName)
}

// Names are those of all faults.
func Names() (names []string) {
	for _, f := range faults() {
		names = append(names, f.name)
	}
	return names
}
