package gauges

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Readings are those of a run, in the order of time. There are two at least: before it and after it.
type Readings struct {
	Start time.Time
	All   []Reading
	Notes []string // what could not be read, and why

	sources Sources
}

// Took is the time from the first reading to the last.
func (r Readings) Took() time.Duration {
	if len(r.All) == 0 {
		return 0
	}
	return r.All[len(r.All)-1].After
}

// known is what readings tell of a quantity, and when.
func (r Readings) known(tell func(Reading) float64) (seconds, values []float64) {
	for _, reading := range r.All {
		if value := tell(reading); !math.IsNaN(value) {
			seconds, values = append(seconds, reading.After.Seconds()), append(values, value)
		}
	}
	return seconds, values
}

// points are a quantity over time.
func (r Readings) points(q quantity) (seconds, values []float64) {
	return r.known(func(x Reading) float64 { return x.of(q) })
}

// grown is by how much a counter has grown. One that is less than it was has begun again, with its process. NaN: not known.
func (r Readings) grown(q quantity) float64 {
	return r.growth(func(x Reading) float64 { return x.of(q) })
}

func (r Readings) growth(tell func(Reading) float64) float64 {
	_, values := r.known(tell)
	if len(values) < 2 {
		return math.NaN()
	}
	sum := 0.0
	for i := range values[1:] {
		sum += step(values[i], values[i+1])
	}
	return sum
}

func step(before, after float64) float64 {
	if after < before {
		return after
	}
	return after - before
}

// rates are by how much a counter grew a second, between any two readings.
func (r Readings) rates(q quantity) (at, perSecond []float64) {
	seconds, values := r.points(q)
	for i := 1; i < len(values); i++ {
		if took := seconds[i] - seconds[i-1]; took > 0 {
			at, perSecond = append(at, seconds[i]), append(perSecond, step(values[i-1], values[i])/took)
		}
	}
	return at, perSecond
}

// most is the largest of a quantity; NaN: not known.
func (r Readings) most(q quantity) float64 {
	_, values := r.points(q)
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Max(values)
}

// Memory is the resident memory of the service in bytes, and the seconds at which it was read; none where it is not known.
func (r Readings) Memory() (seconds, bytes []float64) { return r.points(resident) }

// Goroutines are those of the service, and the seconds at which they were read; none where they are not known.
func (r Readings) Goroutines() (seconds, count []float64) { return r.points(goroutines) }

// CPU is how many seconds of processors a process has used; NaN: not known.
func (r Readings) CPU(p Process) float64 { return r.grown(cpu(p)) }

// Merges is how many merges there were; NaN: not known.
func (r Readings) Merges() float64 { return r.grown(merges) }

// MergesOverTime is how many merges there have been, and the seconds at which that was read; none where it is not known.
func (r Readings) MergesOverTime() (seconds, count []float64) { return r.points(merges) }

// LockWaitOverTime is how long workers have waited for locks, and the seconds at which that was read; none where it is not known.
func (r Readings) LockWaitOverTime() (seconds, waited []float64) { return r.points(lockSeconds) }

// LockWait is what workers waited for locks during the run.
func (r Readings) LockWait() Histogram {
	h := Histogram{Count: r.grown(lockWaits), Sum: r.grown(lockSeconds)}
	for _, x := range r.All {
		if x.bounds != nil {
			h.Bounds = x.bounds
		}
	}
	for _, bound := range h.Bounds {
		h.Within = append(h.Within, r.growth(func(x Reading) float64 {
			if math.IsNaN(x.of(lockWaits)) {
				return math.NaN()
			}
			return x.values[waitsWithin(bound)] // 0: nothing was counted yet
		}))
	}
	return h
}

// lockWaits are those between any two readings of the service, as somebody tells them.
func (r Readings) lockWaits(tell func(Histogram) float64) (seconds, values []float64) {
	known := slices.DeleteFunc(slices.Clone(r.All), func(x Reading) bool { return math.IsNaN(x.of(lockWaits)) })
	for i := 1; i < len(known); i++ {
		if value := tell(Readings{All: known[i-1 : i+1]}.LockWait()); !math.IsNaN(value) {
			seconds, values = append(seconds, known[i].After.Seconds()), append(values, value)
		}
	}
	return seconds, values
}

// relations are the tables and indexes of the first and of the last reading that tell of them.
func (r Readings) relations() (first, last []Relation) {
	for _, reading := range r.All {
		if len(reading.relations) > 0 {
			if first == nil {
				first = reading.relations
			}
			last = reading.relations
		}
	}
	return first, last
}

// Growth is by how many bytes all tables grew, and all indexes; NaN: not known.
func (r Readings) Growth() (tables, indexes float64) {
	change := func(q quantity) float64 {
		_, values := r.points(q)
		if len(values) == 0 {
			return math.NaN()
		}
		return values[len(values)-1] - values[0]
	}
	return change(tableBytes), change(indexBytes)
}

// Writes is how many transactions wrote in PostgreSQL; NaN: not known.
func (r Readings) Writes() float64 { return r.grown(writes) }

// Process is one of those whose processor time is told apart.
type Process string

// The processes. PostgreSQL is all processes of the server together, as the service is where there are several. Machine is
// all that run here, also those that have nothing to do with the run: what else there was tells how far to trust a figure.
const (
	Generator  Process = "generator"
	Service    Process = "service"
	Redis      Process = "Redis"
	PostgreSQL Process = "PostgreSQL"
	Machine    Process = "whole machine"
)

func processes() []Process { return []Process{Generator, Service, Redis, PostgreSQL, Machine} }

// quantity is something that is read. Counters count since their process began.
type quantity string

// cpu is the processor time of a process in seconds, of user and system together.
func cpu(p Process) quantity { return quantity("cpu of " + p) }

// waitsWithin is how many waits for locks took no longer than a bound.
func waitsWithin(bound float64) quantity { return quantity(fmt.Sprint(lockWaits, " within ", bound)) }

// The quantities.
const (
	// Of services, all together.
	batches     quantity = "inventory_batch_orders"
	lockWaits   quantity = "inventory_lock_wait_seconds" // of workers, for the lock of a segment, whether they got it or not
	lockSeconds quantity = "seconds of waits for locks"
	batchOrders quantity = "orders of batches"
	merges      quantity = "inventory_merge_seconds"
	merged      quantity = "inventory_merged_orders_total" // orders that took from several segments
	poolWaits   quantity = "inventory_database_pool_waits_total"
	poolSeconds quantity = "inventory_database_pool_wait_seconds_total"
	poolBusy    quantity = "inventory_database_pool_busy"
	queued      quantity = "inventory_queue_orders"
	locksFail   quantity = "inventory_locks_fail" // services whose breaker is open
	goroutines  quantity = "go_goroutines"
	resident    quantity = "process_resident_memory_bytes"
	heap        quantity = "go_memstats_heap_alloc_bytes" // in use by objects

	// Of Redis, but for what its reader asked.
	redisCommands quantity = "commands of Redis" // also those that scripts call
	redisClients  quantity = "clients of Redis"
	redisMemory   quantity = "memory of Redis"

	// Of PostgreSQL, but for what its reader asked. Bytes and writes are exact at once; what backends count themselves, syncs
	// and commits, they tell later: see PostgresSettles.
	walSyncs    quantity = "syncs of the log"     // in all databases
	walBytes    quantity = "bytes of the log"     // in all databases
	writes      quantity = "writing transactions" // in all databases
	commits     quantity = "commits"              // of this database, of reads too
	connections quantity = "connections"          // to this database
	noFsync     quantity = "fsync is off"         // there are no syncs

	// Of whichever database there is.
	tableBytes quantity = "bytes of tables"
	indexBytes quantity = "bytes of indexes"
	fileBytes  quantity = "bytes of the SQLite file"
	logBytes   quantity = "bytes of the SQLite log"
)

// Reading is what all sources told at one moment.
type Reading struct {
	After time.Duration // since the first

	values    map[quantity]float64 // those that are known
	commands  map[string]float64   // of Redis, by name
	relations []Relation
	bounds    []float64 // of waits for locks, as the service counts them
}

// of is a quantity; NaN: not known.
func (r Reading) of(q quantity) float64 {
	if value, known := r.values[q]; known {
		return value
	}
	return math.NaN()
}

// add adds what one source told.
func (r *Reading) add(part Reading) {
	maps.Copy(r.values, part.values)
	if part.bounds != nil {
		r.bounds = part.bounds
	}
	if part.commands != nil {
		r.commands = part.commands
	}
	if part.relations != nil {
		r.relations = part.relations
	}
}

// Relation is a table without its indexes, or an index.
type Relation struct {
	Name       string
	Table      string // of an index; "" for a table
	Bytes      float64
	Live, Dead float64 // rows of a table, as PostgreSQL estimates them; NaN: not known
}

// sizes adds up the relations.
func (r *Reading) sizes() {
	for _, relation := range r.relations {
		q := tableBytes
		if relation.Table != "" {
			q = indexBytes
		}
		r.values[q] += relation.Bytes
	}
}

// Histogram counts values by upper bounds, each with all that is below it, as Prometheus does.
type Histogram struct {
	Count, Sum float64
	Bounds     []float64 // ascending, without infinity
	Within     []float64 // for each bound
}

// Mean is NaN where nothing was counted.
func (h Histogram) Mean() float64 { return h.Sum / h.Count }

// Quantile is the value that a share of all, 0 to 1, stayed within, as Prometheus estimates it: those of a bucket are taken to
// be spread evenly. What is beyond the last bound counts as that. NaN where nothing was counted.
func (h Histogram) Quantile(share float64) float64 {
	if len(h.Bounds) == 0 || !(h.Count > 0) {
		return math.NaN()
	}
	rank := share * h.Count
	i := slices.IndexFunc(h.Within, func(n float64) bool { return n >= rank })
	if i < 0 {
		return h.Bounds[len(h.Bounds)-1]
	}
	low, below := 0.0, 0.0
	if i > 0 {
		low, below = h.Bounds[i-1], h.Within[i-1]
	}
	if h.Within[i] == below {
		return h.Bounds[i]
	}
	return low + (h.Bounds[i]-low)*(rank-below)/(h.Within[i]-below)
}
