package lockbench

import (
	"context"
	"time"

	"inventory/loadtest/internal/experiment"
)

// oneCaller measures what a lock costs whom nobody disturbs.
func oneCaller(ctx context.Context, b *bench) ([]entrant, func() error, error) {
	kinds := append([]kind{
		inventoryMutex(), bsm(50 * time.Millisecond), redsyncKind(), advisory(),
		inventoryFair(), inventoryWriter(), inventoryReader(), inventoryMultiLock(), bsmMulti(), inventoryRedLock(),
	}, textbooks()...)
	fleets, closeAll, err := openFleets(ctx, b.there(kinds), b.servers, 1, 1)
	if err != nil {
		return nil, nil, err
	}
	return b.entrantsOf(ctx, fleets, crowd{name: "one", callers: 1, load: load{window: b.scale.Window}}), closeAll, nil
}

func oneCallerTargets() []experiment.Target {
	return []experiment.Target{
		atLeast("cycles, in parts of the fastest library's", toFastestLibrary(PerSecond), 0.85),
		atLeast("cycles, in parts of the fastest peer's", toFastestPeer(PerSecond), 0.85),
		atMost("commands a cycle", experiment.Level(Commands, mutexName), 2),
	}
}
