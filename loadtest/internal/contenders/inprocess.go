package contenders

import (
	"context"

	"inventory/loadtest/internal/experiment"
)

// inProcess lets all designs sell to some, and to many callers.
func inProcess(ctx context.Context, w *world) ([]*entrant, error) {
	return enter(ctx, w, w.Scale.Callers[:], designs()...)
}

// oneCaller compares an undisturbed order through the service with the least that is durable, in short rounds.
func oneCaller(ctx context.Context, w *world) ([]*entrant, error) {
	return enter(ctx, w, []int{1}, append(inventories(), bareTransaction())...)
}

// enter opens a market for designs, each of which sells to each number of callers.
func enter(ctx context.Context, w *world, callers []int, all ...design) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w, postgresConnections)
	if err != nil {
		return nil, err
	}
	for _, n := range callers {
		for _, d := range all {
			e, err := m.entrant(ctx, d, n)
			if err != nil {
				return nil, err
			}
			entrants = append(entrants, e)
		}
	}
	return entrants, nil
}

func oneCallerTargets() []experiment.Target {
	toBare := experiment.Times(p50, at(inventoryName, 1), at(bareName, 1))
	return []experiment.Target{experiment.AtMost("inventory, one caller, p50 in parts of a bare transaction's", toBare, 1.2)}
}
