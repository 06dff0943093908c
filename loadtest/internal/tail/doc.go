// Package tail sells the last hundredth of a SKU, where segments are nearly empty and differently full, and kills a process
// that holds the lock of one.
//
// Three processes of the service sell the SKU. Large orders bring it to its last hundredth. Then buyers come to all three
// processes in an open loop. In half of the rounds a process is killed when half of the tail is sold; both kinds of rounds
// get the same orders.
//
// # How a holder is killed
//
// Locks name their holders by process. The processes sell the large orders one after the other, so the name at the locks is
// that of the process that sells. During the tail Redis is asked until the victim holds a lock. The victim gets a SIGSTOP,
// and Redis is asked again: a stopped process releases nothing. If the lock is still the victim's, the process is killed;
// otherwise it goes on, and is watched again. When it is gone, Redis is asked once more: the report says whether the lock had
// a dead holder, and for how long.
//
// # Retries
//
// An order without a final answer is sent again under the same order id to the other processes in turn, as a buyer's program
// does. In the end each accepted order has one row of its quantity, and no other order has one.
package tail
