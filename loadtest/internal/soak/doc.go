// Package soak makes the service do all of its work at once for a long time, in an open loop at a steady rate, and looks for what
// only time shows: memory and goroutines that are not given back, tables and indexes that grow by more than their rows, and
// growing latencies.
//
// # The work
//
// Buyers deduct from many SKUs, of which a few are most wanted; reserve, and commit, cancel, or let it expire; order several SKUs
// at once, repeat orders, return them, and read. Meanwhile stock is restocked and adjusted, and SKUs are resegmented. All of it
// follows from the seed: see [NewPlan]. A request that follows an earlier one is sent whatever became of that: the commit of a
// refused reservation is answered 404.
//
// As much is put in as is taken in the mean, so SKUs run out now and then, but most orders get something.
//
// # The audit
//
// Every order, reservation and line must be in the rows, or not, in the state of its answer. The audit recomputes the balance
// with all restocks and adjustments.
//
// # The verdict
//
// The first twentieth of the run is warm-up. The rest is divided into quarters: [Judge].
package soak
