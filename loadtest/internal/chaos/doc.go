// Package chaos has the whole service sell while everything goes wrong, and holds what callers saw against the rows.
//
// Three processes run on a PostgreSQL that syncs its commits and a Redis, over a network that can be cut, slowed, left half
// open, or made to deliver late. Callers do a mixed load: a hot SKU, many SKUs, reservations that are committed, given back
// or forgotten, a limit for each buyer, whole orders, restocks, resegments; who gets no answer in time hangs up and asks
// another process. Faults come one after the other, by a seed: processes are killed, stopped or told to end, Redis is emptied,
// stopped or killed, PostgreSQL killed or its sessions ended, and the network of either goes wrong, for one process or for all.
// With Redis under Sentinel, or a Redis Cluster, it is a master that is stopped, killed or failed over, a Sentinel that is killed,
// or a slot that moves; its network stays whole.
//
// After each round all faults are over, and package history checks: what may not happen has not happened.
package chaos

import (
	"io"
	"time"

	"inventory/loadtest/internal/target"
)

// Config says what to play.
type Config struct {
	Seed     uint64        // of the first round; the next one has the next
	Rounds   int           // at most
	Length   time.Duration // of a round
	For      time.Duration // no round begins after this; 0: as long as it takes
	Lock     string        // kind of lock of the segments
	Redis    string        // OneRedis, UnderSentinel or Cluster
	Faults   []string      // names of the kinds of faults; none: all
	Process  target.Process
	Progress io.Writer
}

// The kinds of Redis that a run can have.
const (
	OneRedis      = "one"      // one server, behind a network that fails
	UnderSentinel = "sentinel" // a master with two replicas, and three Sentinels
	Cluster       = "cluster"  // three masters, each with a replica
)

// The measure of a run.
const (
	processes   = 3
	callers     = 48
	sampleEvery = 100 * time.Millisecond
)
