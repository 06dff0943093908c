package capacity

import (
	"fmt"
	"math"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/gauges"
)

// part is one of those that an order costs time.
type part string

// The parts. All but the last use processors.
const (
	process   part = "process" // of the service: HTTP, and what decides and queues
	database  part = "PostgreSQL"
	locks     part = "Redis"
	generator part = "generator" // of the lab alone
	disk      part = "waiting"   // of a write, for the disk and for wake-ups
)

// parts are those that use processors.
func parts() []part { return []part{process, database, locks, generator} }

// others is how many processors were busy with something else: the kernel, and what else runs.
const others = "processors of others"

func (p part) metric() string { return string(p) + " us" }

// spent adds to a window what its orders cost each part.
func spent(sample experiment.Sample, read gauges.Readings, orders float64) {
	busy := read.CPU(gauges.Machine)
	for part, of := range map[part]gauges.Process{process: gauges.Service, database: gauges.PostgreSQL, locks: gauges.Redis, generator: gauges.Generator} {
		seconds := read.CPU(of)
		busy -= seconds
		sample[part.metric()] = seconds * 1e6 / orders
	}
	sample[others] = max(0, busy/read.Took().Seconds()) // clocks have ticks
}

// Cost is in microseconds: what each order costs, and what each write costs its orders together.
type Cost struct {
	Order float64 `json:"us_an_order"`
	Write float64 `json:"us_a_write"`
}

// at is what an order costs that shares its write with others.
func (c Cost) at(batch float64) float64 { return c.Order + c.Write/batch }

// Costs are those of a work.
type Costs struct {
	Parts map[part]Cost `json:"parts"`
	Batch float64       `json:"orders_a_write"` // where the costs were taken
	// Others is how many processors were busy with something else then.
	Others float64 `json:"processors_of_others"`
}

// of is what an order costs a part.
func (c Costs) of(p part) float64 { return c.Parts[p].at(c.Batch) }

// sum is what an order, and what a write, costs several parts.
func (c Costs) sum(of ...part) (sum Cost) {
	for _, p := range of {
		sum.Order, sum.Write = sum.Order+c.Parts[p].Order, sum.Write+c.Parts[p].Write
	}
	return sum
}

// costsOf tells apart what orders and what writes cost: by what orders cost of which one waits at a time, and many. What is not known
// is an error, and no cost of 0.
func costsOf(w work, alone, together experiment.Sample) (Costs, error) {
	for _, s := range []experiment.Sample{alone, together} {
		for _, name := range needed(w) {
			if value, known := s[name]; !known || math.IsNaN(value) || math.IsInf(value, 0) {
				return Costs{}, fmt.Errorf("%s: no costs without %q", w.name, name)
			}
		}
	}
	c := Costs{Parts: make(map[part]Cost), Batch: 1, Others: together[others]}
	if w.writers.most > 0 {
		c.Batch = together[batch]
	}
	cycle := 1e6 / alone[rate]
	for _, p := range parts() {
		one, many := alone[p.metric()], together[p.metric()]
		cycle -= one
		c.Parts[p] = Cost{Order: many}
		if shared := 1 - alone[batch]/c.Batch; w.writers.most > 0 && shared > 0 {
			write := min(max(0, (one-many)/shared), many*c.Batch) // an order costs no less than nothing
			c.Parts[p] = Cost{Order: many - write/c.Batch, Write: write}
		}
	}
	if w.writers.most > 0 {
		c.Parts[disk] = Cost{Write: max(0, cycle)}
	}
	return c, nil
}

// needed are the metrics that costs are made of.
func needed(w work) []string {
	all := []string{rate, others}
	if w.writers.most > 0 {
		all = append(all, batch)
	}
	for _, p := range parts() {
		all = append(all, p.metric())
	}
	return all
}
