package contenders

import (
	"context"

	"inventory/loadtest/internal/report"
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

func replaysTargets(c Case, s Scale) []report.Target {
	ratio := c.entry(replaysName, s.many()).Ratio
	return []report.Target{report.AtLeast("1% replays, answers in parts of those without", ratio, 0.90)}
}
