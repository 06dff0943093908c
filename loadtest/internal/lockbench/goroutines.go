package lockbench

import (
	"context"
	"time"

	"inventory/loadtest/internal/experiment"
)

// crowdKinds are all contenders that keep everybody else out: readers do not.
func crowdKinds() []kind {
	return append([]kind{
		inventoryMutex(), inventoryFair(),
		bsm(time.Millisecond), bsm(50 * time.Millisecond), redsyncKind(), advisory(),
		inventoryWriter(), inventoryMultiLock(), inventoryRedLock(),
	}, textbooks()...)
}

// firstLook is how many of them are enough where there is little time.
const firstLook = 6

// crowdKinds are those that take part.
func (b *bench) crowdKinds() []kind {
	if b.scale.Few {
		return crowdKinds()[:firstLook]
	}
	return b.there(crowdKinds())
}

// manyGoroutines measures one lock between 64 goroutines of one process that do nothing under it.
func manyGoroutines(ctx context.Context, b *bench) ([]entrant, func() error, error) {
	fleets, closeAll, err := openFleets(ctx, b.crowdKinds(), b.servers, 1, b.scale.Crowd)
	if err != nil {
		return nil, nil, err
	}
	return b.entrantsOf(ctx, fleets, crowd{name: "goroutines", callers: b.scale.Crowd, load: load{window: b.scale.Window}}), closeAll, nil
}

func manyGoroutinesTargets() []experiment.Target {
	return []experiment.Target{
		atLeast("acquisitions, in parts of the fastest peer's", toFastestPeer(PerSecond), 5),
		atLeast("Jain's index", experiment.Level(Fairness, mutexName), 0.95),
		atMost("longest wait, in parts of the fastest library's", toFastestLibrary(WaitMax), 1.0/20),
	}
}
