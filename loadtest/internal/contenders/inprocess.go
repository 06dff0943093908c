package contenders

import (
	"context"
	"fmt"

	"inventory/loadtest/internal/experiment"
)

// inProcess lets all designs sell to some, and to many callers.
func inProcess(ctx context.Context, w *world) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w, postgresConnections)
	if err != nil {
		return nil, err
	}
	for _, callers := range w.Scale.Callers {
		if entrants, err = m.enter(ctx, entrants, callers, designs()...); err != nil {
			return nil, err
		}
	}
	return entrants, nil
}

// enter adds designs to the entrants.
func (m *market) enter(ctx context.Context, entrants []*entrant, callers int, all ...design) ([]*entrant, error) {
	for _, d := range all {
		e, err := m.entrant(ctx, d, callers)
		if err != nil {
			return nil, err
		}
		entrants = append(entrants, e)
	}
	return entrants, nil
}

// inProcessTargets are about many callers, where batches pay.
func inProcessTargets(s Scale) []experiment.Target {
	many := s.many()
	return []experiment.Target{
		atLeast(fmt.Sprintf("inventory, %d callers, in parts of textbook segments", many), at(inventoryName, many), at(textbookName, many), 20),
		atLeast(fmt.Sprintf("inventory, %d callers, in parts of Redis Lua", many), at(inventoryName, many), at(luaName, many), 1),
	}
}

// oneCaller compares what an order costs whom nobody disturbs: through the service, and by the least that is durable.
// They take turns in short rounds.
func oneCaller(ctx context.Context, w *world) (entrants []*entrant, err error) {
	m, err := openMarket(ctx, w, postgresConnections)
	if err != nil {
		return nil, err
	}
	return m.enter(ctx, nil, 1, inventory(), inventoryNoLocks(), inventoryEmbedded(), bareTransaction())
}

func oneCallerTargets(Scale) []experiment.Target {
	toBare := experiment.Times(p50, at(inventoryName, 1), at(bareName, 1))
	return []experiment.Target{experiment.AtMost("inventory, one caller, p50 in parts of a bare transaction's", toBare, 1.2)}
}
