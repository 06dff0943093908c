package gauges

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"time"
)

// Readings are the readings of a run in order of time: one before it, one after it, and those in between.
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

// Points are a quantity over time.
func (r Readings) Points(q Quantity) (seconds, values []float64) {
	for _, x := range r.All {
		if value, known := x.values[q]; known {
			seconds, values = append(seconds, x.After.Seconds()), append(values, value)
		}
	}
	return seconds, values
}

// Grown is the growth of a counter; NaN: not known.
func (r Readings) Grown(q Quantity) float64 {
	_, values := r.Points(q)
	if len(values) < 2 {
		return math.NaN()
	}
	sum := 0.0
	for i := range values[1:] {
		sum += step(values[i], values[i+1])
	}
	return sum
}

// step is the growth of a counter between two readings. It restarts at 0 with its process.
func step(before, after float64) float64 {
	if after < before {
		return after
	}
	return after - before
}

// rates are the growth of a counter a second, between each two readings.
func (r Readings) rates(q Quantity) (at, perSecond []float64) {
	seconds, values := r.Points(q)
	for i := 1; i < len(values); i++ {
		if took := seconds[i] - seconds[i-1]; took > 0 {
			at, perSecond = append(at, seconds[i]), append(perSecond, step(values[i-1], values[i])/took)
		}
	}
	return at, perSecond
}

// most is the largest value of a quantity; NaN: not known.
func (r Readings) most(q Quantity) float64 {
	_, values := r.Points(q)
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Max(values)
}

// CPU is how many seconds of processors a process has used; NaN: not known.
func (r Readings) CPU(p Process) float64 { return r.Grown(cpu(p)) }

// LockWait are the waits of workers for locks.
func (r Readings) LockWait() (sum Histogram) {
	for _, waits := range r.lockWaits() {
		sum.Add(waits)
	}
	return sum
}

// lockWaits are the waits for locks between each two readings, at the time of the second.
func (r Readings) lockWaits() iter.Seq2[time.Duration, Histogram] {
	return func(yield func(time.Duration, Histogram) bool) {
		var before *Histogram
		for _, x := range r.All {
			if before != nil && x.waits != nil && !yield(x.After, x.waits.since(*before)) {
				return
			}
			before = cmp.Or(x.waits, before)
		}
	}
}

// Growth is the growth of all tables, and of all indexes, in bytes; NaN: not known.
func (r Readings) Growth() (tables, indexes float64) {
	change := func(q Quantity) float64 {
		_, values := r.Points(q)
		if len(values) == 0 {
			return math.NaN()
		}
		return values[len(values)-1] - values[0]
	}
	return change(tableBytes), change(indexBytes)
}

// Process names whose processor time is counted by itself.
type Process string

// The processes. PostgreSQL is all processes of the server, Service all processes of the service. Machine is all processes that
// run here, also those of other programs.
const (
	Generator  Process = "generator"
	Service    Process = "service"
	Redis      Process = "Redis"
	PostgreSQL Process = "PostgreSQL"
	Machine    Process = "whole machine"
)

func processes() []Process { return []Process{Generator, Service, Redis, PostgreSQL, Machine} }

// Quantity is something that is read: a counter since the start of its process, or a gauge.
type Quantity string

// cpu is the processor time of a process in seconds, of user and system together.
func cpu(p Process) Quantity { return Quantity("cpu of " + p) }

// The quantities.
const (
	// Of services, all together.
	batches     Quantity = "inventory_batch_orders"
	lockWaits   Quantity = "inventory_lock_wait_seconds" // of workers, for the lock of a segment, whether they got it or not
	LockSeconds Quantity = "seconds of waits for locks"
	batchOrders Quantity = "orders of batches"
	Merges      Quantity = "inventory_merge_seconds"
	merged      Quantity = "inventory_merged_orders_total" // orders that took from several segments
	poolWaits   Quantity = "inventory_database_pool_waits_total"
	poolSeconds Quantity = "inventory_database_pool_wait_seconds_total"
	poolBusy    Quantity = "inventory_database_pool_busy"
	queued      Quantity = "inventory_queue_orders"
	locksFail   Quantity = "inventory_locks_fail" // services whose breaker is open
	Goroutines  Quantity = "go_goroutines"
	Memory      Quantity = "process_resident_memory_bytes"
	heap        Quantity = "go_memstats_heap_alloc_bytes" // in use by objects

	// Of Redis, but for what its reader asked.
	redisCommands Quantity = "commands of Redis" // also those that scripts call
	redisClients  Quantity = "clients of Redis"
	redisMemory   Quantity = "memory of Redis"

	// Of PostgreSQL, but for what its reader asked. Bytes and writes are exact at once; what backends count themselves, syncs
	// and commits, they report up to ten seconds later.
	walSyncs    Quantity = "syncs of the log"     // in all databases
	walBytes    Quantity = "bytes of the log"     // in all databases
	Writes      Quantity = "writing transactions" // in all databases
	commits     Quantity = "commits"              // of this database, of reads too
	connections Quantity = "connections"          // to this database
	noFsync     Quantity = "fsync is off"         // there are no syncs

	// Of whichever database there is.
	tableBytes Quantity = "bytes of tables"
	indexBytes Quantity = "bytes of indexes"
	fileBytes  Quantity = "bytes of the SQLite file"
	logBytes   Quantity = "bytes of the SQLite log"
)

// Reading is what was read from all sources at one moment.
type Reading struct {
	After time.Duration // since the first

	values map[Quantity]float64 // those that are known
	waits  *Histogram           // for locks; nil: not known
}

// add adds the reading of one source.
func (r *Reading) add(part Reading) {
	maps.Copy(r.values, part.values)
	r.waits = cmp.Or(part.waits, r.waits)
}

// Histogram counts values by upper bounds, each with all that is below it, as Prometheus does.
type Histogram struct {
	Count, Sum float64
	Bounds     []float64 // ascending, without infinity
	Within     []float64 // for each bound
}

// Add adds a histogram of the same bounds.
func (h *Histogram) Add(other Histogram) {
	if h.Bounds == nil {
		h.Bounds, h.Within = other.Bounds, make([]float64, len(other.Bounds))
	}
	h.Count, h.Sum = h.Count+other.Count, h.Sum+other.Sum
	for i, n := range other.Within {
		h.Within[i] += n
	}
}

// since is what was counted after an earlier histogram. It restarts at 0 with its process.
func (h Histogram) since(before Histogram) Histogram {
	if before.Count == 0 || h.Count < before.Count {
		return h
	}
	grown := Histogram{Count: h.Count - before.Count, Sum: h.Sum - before.Sum, Bounds: h.Bounds}
	for i, n := range h.Within {
		grown.Within = append(grown.Within, n-before.Within[i])
	}
	return grown
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
