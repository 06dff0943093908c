// Package events tells people who watch what is being sold, live, in every process, and never at the cost of a sale.
//
// # Protocol
//
//	lane ── Publish ──> pending ──┐ every 50 ms     ┌──> Subscription ──> listener
//	                              ├─> batch ──> Hub ┼──> Subscription ──> listener
//	other processes ── Redis ─────┘      │          └──> …
//	                   pub/sub <─────────┘
//
// Publish puts an event down and returns. What gathers is made into a batch by a goroutine of the hub: sales of one SKU
// become one event, so that a sale of any size is a few events a second. The batch goes to the listeners of this process,
// and through a Redis channel to the hubs of the others.
//
// Each process numbers its events and says in each batch which numbers it is about. A batch that is heard twice is told
// once, and numbers that are missing are events that were lost: while Redis was away, on a connection that broke, or
// because more was published than is kept. While nothing happens a process repeats its number (a beat), so that the loss
// of its last events is noticed too. Every loss is told to the listeners, with how many.
//
// A listener has a buffer of its own. When it reads too slowly the buffer is full, and what comes then is lost to that
// listener alone, who is told.
//
// # What it does not promise
//
// Events are told after they were written, those of one process in its order, those of several processes in no order. Any
// may be lost, with the process that published them even without a word: the rows are the truth.
package events
