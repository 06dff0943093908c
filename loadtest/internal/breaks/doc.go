// Package breaks breaks locks: it does to each of them what happens to locks in production, and looks what comes of it.
//
// A fault is a fixed sequence of steps; nothing is left to luck. A holder is a process of its own, which does one step at a time
// as it is told, and gets SIGKILL or SIGSTOP in between; a step that must not be finished is caught by a hook in its client, and
// its connections go through a cable that can be cut. Steps follow one another by answers. Only "free again" is waited for, up
// to a bound of several leases: that is what "for ever" means here.
//
// What a lock is there for is a row of stock. A holder reads how many units are left, and writes how many will be left;
// whoever writes what it read before somebody else wrote has sold the same units twice. A lock with a fencing token shows
// it to the row, which refuses a token that is older than one it has seen; any other lock writes as it is.
//
// A lock is broken by a fault if a late write was accepted, two holders were inside at once, or the lock was never free
// again. It has survived if nothing of that happened, and refused if somebody who was late was turned away. The textbooks'
// locks must break where their flaws are, or else the demonstration is wrong; ours must not.
package breaks
