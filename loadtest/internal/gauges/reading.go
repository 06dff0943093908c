package gauges

import (
	"math"
	"time"
)

// Process is one of those whose processor time is told apart.
type Process int

// The processes. PostgreSQL is all processes of the server together, as the service is where there are several. Machine is
// all that run here, also those that have nothing to do with the run: what else there was tells how far to trust a figure.
const (
	Generator Process = iota
	Service
	Redis
	PostgreSQL
	Machine
	processKinds
)

func (p Process) String() string {
	return [...]string{"generator", "service", "Redis", "PostgreSQL", "whole machine"}[p]
}

// Reading is what all sources told at one moment. Counters count since their process began.
type Reading struct {
	After    time.Duration         // since the first
	CPU      [processKinds]float64 // seconds, of user and system together; NaN: not known
	Service  *ServiceReading       // nil: not known
	Redis    *RedisReading
	Postgres *PostgresReading
	SQLite   *SQLiteReading

	edge bool // the first of a run, or the last
}

func newReading(after time.Duration, edge bool) Reading {
	r := Reading{After: after, edge: edge}
	for p := range r.CPU {
		r.CPU[p] = math.NaN()
	}
	return r
}

// ServiceReading is what services tell of themselves, all together.
type ServiceReading struct {
	LockWait    Histogram // of lanes, for the lock of a segment, whether they got it or not
	Batches     float64
	BatchOrders float64
	Merges      float64
	Merged      float64 // orders that took from several segments
	PoolWaits   float64 // for a connection to the database
	PoolSeconds float64
	PoolBusy    float64 // connections in use
	Queue       float64 // orders that wait now
	LocksFail   float64 // services whose breaker is open
	Goroutines  float64
	Resident    float64 // bytes
	Heap        float64 // bytes, of it in use by objects
}

// RedisReading is what a Redis server has done, but for what its reader asked.
type RedisReading struct {
	Commands  float64 // also those that scripts call
	ByCommand map[string]float64
	Clients   float64
	Memory    float64 // bytes
}

// PostgresReading is what a PostgreSQL server has done, but for what its reader asked. WALBytes and Writes are exact at once;
// what backends count themselves, WALSyncs and Commits, they tell later: see PostgresSettles.
type PostgresReading struct {
	WALSyncs    float64 // in all databases
	WALBytes    float64 // in all databases
	Writes      float64 // transactions that wrote, in all databases
	Commits     float64 // transactions of this database, those too that only read
	Connections float64 // to this database
	Fsync       bool    // false: there are no syncs
	Relations   []Relation
}

// SQLiteReading is how large a SQLite file is.
type SQLiteReading struct {
	Bytes     float64    // its pages, those too that are still in the log
	Free      float64    // bytes of its free pages
	Log       float64    // bytes of the log's file
	Relations []Relation // at the edges of a run alone: all pages are looked at
}

// Relation is a table without its indexes, or an index.
type Relation struct {
	Name       string
	Table      string // of an index; "" for a table
	Bytes      float64
	Live, Dead float64 // rows of a table, as PostgreSQL estimates them; NaN: not known
}

// Relations are the tables and indexes of whichever database there is.
func (r Reading) Relations() []Relation {
	switch {
	case r.Postgres != nil:
		return r.Postgres.Relations
	case r.SQLite != nil:
		return r.SQLite.Relations
	}
	return nil
}

// Histogram counts values by upper bounds, each with all that is below it, as Prometheus does.
type Histogram struct {
	Count, Sum float64
	Bounds     []float64 // ascending, without infinity
	Within     []float64 // for each bound
}
