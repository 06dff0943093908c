// Package events sends live events of sales to listeners in every process, and never delays a sale.
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
// a Redis channel to the hubs of the other processes.
//
// Each process numbers its events, and each batch states its numbers. A hub delivers a batch that arrives twice only
// once. Missing numbers are events that were lost: while Redis was away, on a connection that broke, or because a process
// published more than it keeps. While nothing happens a process repeats its number (a heartbeat), so that hubs notice
// the loss of its last events too. Listeners learn how many events were lost.
//
// Each listener has its own buffer. If a listener reads too slowly the buffer fills. Only that listener then loses
// events, and it learns how many.
//
// # What it does not promise
//
// Events are published after their rows are written. Those of one process come in its order, those of several processes
// in no particular order. Any event may be lost, and if its process ends, the loss is not even reported: the rows are
// the truth.
package events
