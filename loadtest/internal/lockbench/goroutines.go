package lockbench

import (
	"context"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/report"
)

// manyGoroutines measures one lock between 64 goroutines of one process that do nothing under it.
func manyGoroutines(ctx context.Context, b *bench) ([]Contender, error) {
	kinds := []kind{
		inventoryMutex(), inventoryFair(), bsm(time.Millisecond), bsm(50 * time.Millisecond), redsyncKind(), advisory(),
	}
	fleets, closeAll, err := openFleets(ctx, kinds, b.servers, 1, b.scale.Crowd)
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
