package capacity

import (
	"fmt"
	"math"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/gauges"
)

// part is a part of the system that spends time on an order.
type part string

// The parts. All but the last use processors.
const (
	process   part = "process" // of the service: HTTP, and what decides and queues
	database  part = "PostgreSQL"
	locks     part = "Redis"
	generator part = "generator" // of the lab alone
	disk      part = "waiting"   // of a write, for the disk and for wake-ups
)

// parts are the parts that use processors.
func parts() []part { return []part{process, database, locks, generator} }

// others is how many processors were busy with the kernel and with other programs.
const others = "processors of others"

func (p part) metric() string { return string(p) + " us" }

// spent adds what an order cost each part in a window.
func spent(sample experiment.Sample, read gauges.Readings, orders float64) {
	busy := read.CPU(gauges.Machine)
	for part, of := range map[part]gauges.Process{process: gauges.Service, database: gauges.PostgreSQL, locks: gauges.Redis, generator: gauges.Generator} {
		seconds := read.CPU(of)
		busy -= seconds
		sample[part.metric()] = seconds * 1e6 / orders
	}
	sample[others] = max(0, busy/read.Took().Seconds()) // clocks have ticks
}

// Cost is the cost of each order, and of each write for its orders together, in microseconds.
type Cost struct {
	Order float64 `json:"us_an_order"`
	Write float64 `json:"us_a_write"`
}

// at is the cost of an order in a write of so many.
func (c Cost) at(batch float64) float64 { return c.Order + c.Write/batch }

// Costs are the costs of a work.
type Costs struct {
	Parts  map[part]Cost `json:"parts"`
	Batch  float64       `json:"orders_a_write"` // where the costs were measured
	Others float64       `json:"processors_of_others"`
}

// of is the cost of an order for a part.
func (c Costs) of(p part) float64 { return c.Parts[p].at(c.Batch) }

// costsOf separates the costs of orders and of writes: orders one at a time have a write each, orders of many callers share
// them. An unknown metric is an error.
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

// needed are the metrics for the costs.
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
