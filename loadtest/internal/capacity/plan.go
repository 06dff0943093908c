package capacity

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// busy is the part of the time for which processors may work: beyond it orders wait for too long (docs/SCALE.md).
	busy = 0.6
	// ofProcess is how many connections a process may have on a node: its pool, twice while dead ones are replaced, and two.
	ofProcess = 2*defaultConns + 2
)

// limit is where a work stops.
type limit struct {
	what string
	rate float64 // orders a second
	more bool    // as many times as there are of these
	then string  // what to do
}

// The limits.
const (
	processLimit    = "the processors of one process"
	writerLimit     = "the writers of one process"
	nodeLimit       = "the processors of one PostgreSQL node"
	redisLimit      = "the processor of one Redis"
	connectionLimit = "the connections of a PostgreSQL node"
)

// limits are where a work stops, the nearest first. What costs nothing stops nothing.
func (c Costs) limits(w work, site Config) (all []limit) {
	per := func(cores int, us float64) float64 { return busy * 1e6 * float64(cores) / us }
	node := limit{nodeLimit, per(site.NodeCores, c.of(database)), true, "add a node: on Citus SKUs spread over nodes"}
	redis := limit{redisLimit, per(1, c.of(locks)), true, "a Redis Cluster: the SKUs' slots spread over its masters"}
	if w.oneNode {
		node.more, node.then = false, "faster processors; or sell the SKU as several, each with a part of the stock"
		redis.more, redis.then = false, "--lock none: all locks of a SKU are in one slot, and the guard needs none"
	}
	one := limit{processLimit, per(site.ProcessCores, c.of(process)), true, "start more processes"}
	all = []limit{one, node, redis}
	if w.writers.most > 0 {
		n := float64(w.writers.limit)
		took := c.Parts[process].Write + c.Parts[disk].Write + c.Parts[database].Write + n*c.Parts[database].Order
		writers := limit{writerLimit, n * float64(w.writers.most) * 1e6 / took, true, "start more processes"}
		all = append(all, writers)
		one.rate = min(one.rate, writers.rate)
	}
	all = append(all, limit{connectionLimit, one.rate * float64(site.Connections/ofProcess), false, "larger processes, or a smaller pool_max_conns for each"})
	all = slices.DeleteFunc(all, func(l limit) bool { return math.IsInf(l.rate, 0) || math.IsNaN(l.rate) })
	slices.SortStableFunc(all, func(a, b limit) int { return cmp.Compare(a.rate, b.rate) })
	return all
}

// needs are what a rate of orders takes.
type needs struct {
	processes, nodes, masters, connections int
	stops                                  string // the limit that no more of anything moves; "": none
}

func needsOf(rate float64, all []limit) (n needs) {
	n = needs{1, 1, 1, 0, ""}
	for _, l := range all {
		count := int(math.Ceil(rate / l.rate))
		if !l.more && count > 1 && n.stops == "" {
			n.stops = l.what
		}
		switch l.what {
		case processLimit, writerLimit:
			n.processes = max(n.processes, count)
		case nodeLimit:
			n.nodes = max(n.nodes, count)
		case redisLimit:
			n.masters = max(n.masters, count)
		}
	}
	n.connections = n.processes * ofProcess
	return n
}

// spans are the times within which all buyers of a sale come.
func spans() []time.Duration { return []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute} }

// site is a work on one process and one node of a site, to which orders come at a rate.
func (c Costs) site(w work, site Config, rate float64) line {
	return line{
		writers: w.writers, order: c.Parts[process], write: c.Parts[database], wait: c.Parts[disk].Write,
		cores: site.ProcessCores, node: site.NodeCores, rate: rate,
	}
}
