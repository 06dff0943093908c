// Package chaos lets the whole service sell amid faults, and compares what callers saw with the rows.
//
// Three processes run on a PostgreSQL that syncs its commits and a Redis, over networks that fail. Callers do a mixed load, and a
// caller without an answer in time hangs up and asks another process. Faults come one after the other, by a seed; under Sentinel
// and in a Redis Cluster the servers fail, and their network does not. After each round all faults are over, and package history
// checks the answers against the rows.
package chaos

import (
	"io"
	"time"

	"inventory/loadtest/internal/target"
)

// Config says what to play: the flags of the scenario, and what it needs to run.
type Config struct {
	Seed   uint64        `help:"Decides the faults and what is asked for; each further round has the next. 0 draws one. Default: ${default}." default:"0" placeholder:"NUMBER"`
	Rounds int           `help:"Rounds at most, 0 to 100000. Default: 8, or with --for as many as there is time for." default:"0" placeholder:"NUMBER" least:"0" most:"100000"`
	Length time.Duration `help:"How long load is sent in a round, 2s to 1h. Default: ${default}." default:"15s" placeholder:"DURATION" least:"2s" most:"1h"`
	For    time.Duration `help:"No round begins later than this. Default: none does not." placeholder:"DURATION" least:"0s" most:"87600h"`
	Lock   string        `help:"Kind of lock of the segments: reentrant, fair or none. Default: ${default}." default:"reentrant" enum:"reentrant,fair,none" placeholder:"KIND"`
	Redis  string        `help:"Where the locks are: one server, one under sentinel with two replicas, or a cluster. Default: ${default}." default:"one" enum:"one,sentinel,cluster" placeholder:"KIND"`
	Faults []string      `name:"fault" sep:";" help:"Only the kinds of faults of these names, as reports tell them, separated by semicolons; none is a run without faults, which also tells what grows. Default: all." placeholder:"NAME"`

	Process  target.Process `kong:"-"`
	Progress io.Writer      `kong:"-"`
}

// The kinds of Redis that a run can have.
const (
	OneRedis      = "one"      // one server, behind a network that fails
	UnderSentinel = "sentinel" // a master with two replicas, and three Sentinels
	Cluster       = "cluster"  // three masters, each with a replica
)

// None is the fault that is none.
const None = "none"

// defaultRounds are played if nothing else is said, and mostRounds if time ends a run.
const (
	defaultRounds = 8
	mostRounds    = 100_000
)

// The measure of a run.
const (
	processes   = 3
	callers     = 48
	sampleEvery = 100 * time.Millisecond
)
