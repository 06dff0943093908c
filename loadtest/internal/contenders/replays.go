package contenders

import (
	"context"

	"inventory/loadtest/internal/experiment"
)

const (
	noReplaysName = "inventory, no replays"
	replaysName   = "inventory, 1% replays"
	// onePercent: one request in so many is sent again.
	onePercent = 100
)

// replays compares a sale in which some requests are sent again with one in which none is.
func replays(ctx context.Context, w *world) ([]*entrant, error) {
	site, err := w.serveReal(ctx)
	if err != nil {
		return nil, err
	}
	none := site.entrant(noReplaysName, load{connections: w.scale.many()})
	some := site.entrant(replaysName, load{connections: w.scale.many(), again: onePercent})
	none.answers, some.answers = true, true
	return []*entrant{none, some}, nil
}

func replaysTargets(s Scale) []experiment.Target {
	return []experiment.Target{
		atLeast("1% replays, answers in parts of those without", counted, at(replaysName, s.many()), at(noReplaysName, s.many()), 0.90),
	}
}
