// Package tail sells the last hundredth of a SKU, where segments are nearly empty and differently full, and orders of
// different sizes fit into fewer and fewer of them; and kills a process there that holds the lock of one.
//
// Three processes of the service sell the SKU. It is brought to its last hundredth by large orders. Then buyers come in an
// open loop over all three, with quantities of 1 to 5 and a few of 20. Rounds in which nobody is killed stand beside rounds in
// which a process is, when half of the tail is sold; both are sent the same stream.
//
// # How a holder is killed
//
// Locks name their holders by process. While the SKU is brought to its tail the processes sell one after the other, and who is
// seen at its locks then is the one that sells. In mid-tail Redis is asked, segment by segment, until the victim has a lock. It
// gets a SIGSTOP, and Redis is asked again: a process that stands still releases nothing, so if the lock is still its own, it
// is killed; if the release was faster, it goes on, and is watched anew. When the process is gone, Redis is asked once more:
// that the lock has a dead holder then, and for how long, is part of the report.
//
// # What is asked again
//
// A request to which no final answer came is sent again, under the same order id, to the other processes in turn until one
// answers, as a buyer's program does: those that were in flight at the killed process, whose outcome is unknown, and those that no longer
// reach it. At the end each order that was told of its units must have one row of that quantity, and nobody else any.
package tail
