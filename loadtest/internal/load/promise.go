package load

import (
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/target"
)

// PromiseOf is what a target promises of SKUs. Services of others may have another clock, and answer later.
func PromiseOf(to *target.Target, stocks map[string]history.Stock) history.Promise {
	p := history.Promise{Stocks: stocks, AnswerWithin: target.AnswerWithin, Staleness: time.Second, Sweep: 10 * time.Second}
	if !to.Started() {
		p.Clocks = time.Hour
	}
	return p
}
