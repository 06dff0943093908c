// Package soak has a service do all of its work at once for a long time, at a steady rate in an open loop, and looks for what
// only time brings: memory and goroutines that are not given back, tables and indexes that grow by more than what is kept in
// them, answers that take longer and longer.
//
// # The work
//
// Buyers deduct from many SKUs, some of which nearly everybody wants; some reserve first, and commit, cancel, or let it expire;
// some order several SKUs at once, ask again for what they have, return it, or look. Meanwhile stock is put back in, counts are
// corrected, and SKUs get other segments. All of it follows from the seed: see [NewPlan]. What follows on an earlier request
// is due a while after it, and is sent whatever became of that, as an open loop has to: a commit of a reservation that was
// refused is answered by 404.
//
// As much is put in as is taken in the mean. So SKUs run out now and then, and their last units are merged, but most orders get
// something, from the first minute to the last.
//
// # What the answers are held against
//
// Every order, reservation and line that was sent is looked up in the rows, and must be there, or not, in the state of which
// its buyer was told. What was put in and corrected must be in the balance, which the audit recomputes.
//
// # What the course is held to
//
// The first twentieth of the run is for warming up. The rest is cut in quarters: [Judge].
package soak
