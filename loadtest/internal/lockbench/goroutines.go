package lockbench

import (
	"context"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
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
func manyGoroutines(ctx context.Context, b *bench) ([]Contender, error) {
	fleets, closeAll, err := openFleets(ctx, b.crowdKinds(), b.servers, 1, b.scale.Crowd)
	if err != nil {
		return nil, err
	}
	all := b.entrantsOf(ctx, fleets, crowd{name: "goroutines", callers: b.scale.Crowd, load: load{window: b.scale.Window}})
	return b.rounds(ctx, all), closeAll()
}

func manyGoroutinesTargets(c Case) []report.Target {
	mutex, peer, library := c.find(mutexName), c.bestPeer(PerSecond), c.bestLibrary(PerSecond)
	return []report.Target{
		report.AtLeast("acquisitions, in parts of the fastest peer's", compare.Ratio(mutex[PerSecond], peer[PerSecond]), 5),
		report.AtLeast("Jain's index", mutex[Fairness], 0.95),
		report.AtMost("longest wait, in parts of the fastest library's", compare.Ratio(mutex[WaitMax], library[WaitMax]), 1.0/20),
	}
}
