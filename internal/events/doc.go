// Package events shows what is being sold, live, in every process, and never at the cost of a sale.
//
// # Protocol
//
//	worker ── Publish ──> pending ──┐ every 50 ms     ┌──> Subscription ──> listener
//	                                ├─> batch ──> Hub ┼──> Subscription ──> listener
//	other processes ── Redis ───────┘      │          └──> …
//	                   pub/sub <───────────┘
//
// Publish notes an event and returns. A goroutine of the hub makes batches of what was noted. Sales of one SKU become
// one event, so a sale of any size is a few events a second. A batch goes to the listeners of this process, and through
// a Redis channel to the hubs of the others.
//
// Each process numbers its events, and each batch says which numbers it has. A batch that comes twice is told once.
// Missing numbers are events that were lost: while Redis was away, on a connection that broke, or because more was
// published than is kept. While nothing happens a process repeats its number (a heartbeat), so that the loss of its
// last events is noticed too. Listeners are told how many events were lost.
//
// A listener has a buffer of its own. If it reads too slowly the buffer fills, and what comes then is lost to that
// listener alone, and it is told.
//
// # What it does not promise
//
// Events are told after their rows were written: those of one process in its order, those of several processes in no
// order. Any may be lost, and if its process ends, nobody is even told: the rows are the truth.
package events
