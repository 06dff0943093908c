package experiment

import (
	"time"

	"inventory/loadtest/internal/servers"
)

// Config says what a comparison asks, and where.
type Config struct {
	servers.URLs
	Seed     uint64            // of the order of contenders in each round
	Cases    []string          // names; none: all
	Worker   []string          // the command line of a process that does a part of the work
	Progress func(name string) // is told of each case as it begins
}

// Narrow is how many times its low end the high end of an interval may be: none need be narrower.
const Narrow = 1.05

// Rules are those of a case that plays rounds of such windows until all that is asked is known.
func (c Config) Rules(window time.Duration, rounds int) Rules {
	return Rules{Seed: c.Seed, Window: window, Rounds: rounds, Narrow: Narrow}
}

// Begin is the report of a comparison on servers that are ready, before anything is asked.
func (c Config) Begin(scenario string, on *servers.Servers) Report {
	return Report{Scenario: scenario, Seed: c.Seed, Started: time.Now(), Environment: on.About, Warnings: on.Warnings, LeftOut: on.LeftOut}
}
