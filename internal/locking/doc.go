// Package locking provides distributed locks on Redis: a reentrant Mutex, a FairMutex in strict order of
// arrival, an RWMutex, MultiLock, which takes several locks as one, and RedLock, which is one lock on a
// majority of independent servers. All have a watchdog, fencing tokens and a signal when a lock is lost.
//
//	locks, err := locking.New(rdb)
//	hold, err := locks.Mutex("sku-1/3", locking.Group("sku-1")).Lock(ctx)
//	defer hold.Unlock(ctx)
//	work(hold.Context(), hold.Token())
//
// # Words
//
// A process is one Locks. An owner is who holds locks; it travels in contexts, and exclusion is between
// owners. A hold is one successful Lock; an owner can have several of one lock. A grant is what they
// share: one time that the lock goes from free to held, with one token. A re-entry is a re-entry that is under way.
// An attempt is one talk of a process to the server; attempts are numbered, and the number grows. A lease is
// one time that a process has a lock at the server; it can pass through several owners, each with a grant of
// its own.
//
// # Keys
//
// A lock is addressed by its group and its name. Keys are lk:{bNNNN}:ROLE:NAME, or with a group
// lk:{bNNNN}:ROLEn:GROUP:NAME, where n is the length of the group; the bucket is the hash of the group (of
// the name, without one) modulo 1024. The hash chooses the slot and stands for nothing: one name in two groups
// is two locks. The first braces are ours and the role precedes the name, so no name can choose a slot or meet
// a key of another role or kind, and all keys of a lock share a slot.
//
//	m      hash    the state: holder -> count, seq (last attempt), token             TTL: the longest lease
//	               or claim: the process that the free lock is reserved for          500 ms
//	mq     zset    waiting process -> score                                          1 min
//	x      string  tombstone of an attempt; the name is PROCESS:NUMBER               2 leases
//	clock  string  last token of the bucket, which has no name                       30 days
//
// A holder is PROCESS:OWNER:NUMBER, or PROCESS:*NUMBER while the lock passes between owners of one process. The
// number is that of the attempt which took the lock or handed it over, so no two grants have one name.
// A process listens on one channel, lk:wake:PROCESS, from its first wait on. A message is a state key.
//
// # States of a lock
//
//	           acquire                      acquire, same owner: count + 1
//	+------+ ---------------------------> +------+ <--+
//	| free |                              | held | ---+
//	+------+ <--------------------------- +------+      release: count - 1
//	  ^  ^     last release, queue empty,   |  |        renew: expiry put off
//	  |  |     or lease runs out            |  |
//	  |  +----------------------------------+  | last release, somebody queues
//	  |    claim runs out                      v
//	  |                                   +----------+
//	  +---------------------------------- | reserved | -> held by a process's acquire
//	     its process declines, none queues +----------+
//
// # Verbs
//
// acquire takes locks of one slot in order and stops at the first that it cannot have, where it puts the
// process in the queue. release tells the server how often the holder has a lock from now on, frees it at
// zero and wakes the next; it also cancels attempts, leaves queues and declines reservations. handoff
// passes a lock from one holder to the next of the same process, or to a process that waits. renew puts
// an expiry off. token gives the holder a higher token; inspect and force are for people. A script that
// raises would read differently on miniredis: they return codes.
//
// What is said of a lock names the grant and not the owner. So nothing that comes late, or is said twice, can
// touch what the owner gets after that: an unlock of a hold that has lapsed, the end of a re-entry that came
// too late, a handoff to an owner that asks by itself. A server that remembers an older time knows grants of
// then, and takes nobody for one of those.
//
// Counts are absolute, and carry the number of their attempt. The server applies a count if the number is
// above the last one. A count is read, with the longest lease of what it counts, in the same moment in which it
// gets its number; and it counts the re-entries as well as the holds. So a later number is a later truth, a lock is
// not said to be free while a re-entry may still become a hold, and nobody waits for the talk of another
// goroutine of the same owner. A re-entry that is overtaken by a later word is made again. All else follows from
// this: repeating is harmless, and an uncertain outcome is settled by saying once more, with a new number,
// what we hold.
//
// # Waiting
//
// Callers of one process stand in a line for each lock. While one of them has the lock, the others need
// not ask: who unlocks hands it off, see below. Else the head tries; if the lock is busy, the same
// script puts the process in the queue, so a release cannot fall in between. A release takes the first
// process off the queue, reserves the lock for it for a moment and tells it; if no one listens to its
// channel it is dead, and the next one is taken. Because of the reservation, who releases and comes back
// queues behind it. A head that gives up leaves its place to the next in line; the last one in line leaves
// the queue, and hands on what was reserved meanwhile. Nobody queues who could not hear: before the
// subscription stands, and while it is broken, the head polls.
//
// # Inside a process
//
// Who takes a lock for which others of its process wait, takes it in the name of the process, and with it
// up to 64 tokens. Unlock then gives the lock to the first in line, with the next token and without a round trip, as
// long as the last script was sent less than 1 ms ago and nothing shorter was said since: the lease has hardly
// begun, so the next one's is as good as a fresh one. Else the handoff script does it, with new tokens and a
// new lease; if only one waits, in that owner's name.
//
// Tokens in reserve are those that the server's time has left out since the bucket's last one, and none where it
// knows no last one. So no number of handoffs brings tokens ahead of the time, and a server that has forgotten
// all is above them at once.
//
//	            unlock: tokens left, script < 1 ms ago               +--------+
//	        +------------------------------------------------------> |        |
//	+-------+----+    unlock: handoff -> token                      |  next  |
//	| one owner  | ------------------------------------------------> |  owner |
//	+-------+----+    unlock: handoff -> others come first          +--------+
//	        +--------------> reserved for the process at the head of the queue, ours at its end
//
// Others get their turn: after 16 scripts, or 2 ms, the handoff script looks whether a process queues,
// and if so reserves the lock for it and puts ours at the end of the queue.
//
// A re-entry counts under the name that the server knows. While one is under way the lock is not handed off. A
// waiter with another lease is not handed the lock, for its life at the server would be wrong; nor is it handed on
// without a script where a release has cut that life. It is released, and the waiter takes it. Who leaves the line just
// when it is handed the lock gives it back like any hold. When the answer to a handoff is lost, the server
// may know either of two holders: it is told that neither has the lock, and the line asks anew. A copy of a
// handoff that comes late finds its holder gone, or a later attempt: it changes nothing.
//
// # Failures
//
// A wake-up is lost, or its process stops. The head polls every second, and at the moment when the lock
// expires. The reservation ends by itself.
//
// The answer to an acquire is lost or late. Redis may have granted it, may still, or never will. The
// attempt gets a tombstone, and the owner's count is said anew in the same script. Whatever the order: an
// attempt that came before is undone, one that comes later finds the tombstone, and a re-entry that arrives after
// a later word about its grant is outdated. Tombstones stand for two leases from then; a copy that the
// network keeps for longer would hold a lock for one lease that nobody uses, which costs time and not
// safety. This is done in the background until the server answers, for two leases and a minute at most. The
// caller has an error, which is never a grant.
//
// The client sends a script twice. It may do so by itself. A second acquire finds the holder and
// returns the same token. A second release finds the lock free, or somebody else's, and changes nothing.
// A copy that arrives later than the release of what it took would hold the lock again: if an attempt was
// put on the wire more than once, which the argument itself counts, its tombstone comes with the release.
// If it was sent once and answered, no copy exists, and the release costs no key. One question has no sure
// answer: a release that was sent twice finds the lock not ours. Then our own clock decides whether it was
// ours until the release. The same holds where the release of one of several holds is overtaken by that of the last.
//
// The holder stops, or cannot reach the server. A hold trusts itself until the start of the attempt (or of
// the renewal) + lease - 1% - 2 ms on its own monotonic clock, which is before the server can give the lock
// away; then its context ends with ErrLost. The watchdog renews every third of the lease, 250 locks in a
// round trip, and after a failure ten times as often; where a round trip gets no answer at all it spends no time on the rest of
// that node's. What still runs then is for the fencing token to stop. The margin of 1% and 2 ms is for clocks
// that run at different speeds and for a timer that is a little late. It cannot be for a process without
// processor time: that hears of its loss when it runs again, which may be after the next one's grant. With a lease of
// 10 ms on a busy machine this is the rule; with one of 30 s it takes a pause of 300 ms at the wrong moment.
//
// A release is overtaken by a renewal, or a renewal by a release or a handoff. A release that leaves holds brings
// the expiry no nearer than the longest lease of those that are left, so no renewal before it is undone. A
// renewal names the grant and has a number too: one that comes after a release with a higher number would keep
// the lock for longer than anybody needs, changes nothing, and is sent again for those who are left. One that comes
// after a handoff finds nobody of that name, and nobody relies on it any more.
//
// A late copy takes a lock again, under the name of a grant that the server had lost meanwhile. Re-entries and
// renewals name the token as well, so the holder hears of the loss.
//
// The holder forgets to unlock. When the hold's context has ended, it is renewed once more, and then left
// to expire.
//
// The server forgets (FLUSHALL, restart, failover). The next renewal tells the holder. Two may hold the
// lock until then. Tokens still grow: a token is the highest of the bucket's last one + 1 and the server's
// time in microseconds, so a server that knows no clock key is ahead of every token given before, as long
// as its time is. If it remembers an older time, readers may join a phase of then until the leases of then are over.
//
// The server's clock steps back. The clock key keeps tokens growing.
//
// Scripts are flushed. They are sent by their text again, in pipelines as well.
//
// Memory is full. An acquire is refused with the server's error and cancelled; renewals, heartbeats, handoffs and
// releases work: a script that may write first something that needs no memory is given what it needs.
// What is said of memory holds where the server does not make room by evicting locks: CheckServer tells.
//
// # Where it runs
//
// On one server, under Sentinel and on a Cluster. With a Ring, whose subscription is on one shard and whose
// locks are on all, waiters poll.
//
// A failover is a server that forgets what it had not told its replica. Calls under way return errors, holds
// that the new master does not know are lost, and waiting goes on when the client has found the new master.
// A cluster client looks for it only when a node tells it to, so we tell it when a node does not answer.
//
// A cluster spreads locks over its nodes, and a message reaches the subscription wherever it is. But PUBLISH
// counts the listeners of one node only, so there a process is never taken for dead: one that died in a queue
// costs the others a poll. Renewals, heartbeats and what the cleaner does go to each node in a round trip of their own,
// and to one that does not answer in no second one, so that a node which stands still costs no lock and no waiter
// of another.
//
// While a slot moves from node to node, both refuse a script if one of its keys does not exist. Renewals have
// only keys that exist, one or for a reader two, and go on. Who waits for the lock waits on, TryLock fails, and a
// release is tried again for as long as releases are.
//
// # Several locks
//
// A MultiLock takes its parts in the order of their state keys, which is the same for everybody. It holds
// what it has while it waits for the next, so waits go forward only, and cannot form a circle. If its owner
// holds a later lock already, it does not wait at all. What it took is renewed while it waits, also when
// the hold will have a fixed lease; that begins anew for all parts when the last one is taken. Parts are given back
// all at once, and by the cleaner where the call has failed, so that neither takes longer than one round trip may.
//
// A RedLock is one lock on n independent servers, of which a quorum, q = n/2 + 1, must agree. It is the Mutex of
// its name on each of them, and has no state of its own: a part of the hold is a hold of that Mutex, with its own
// deadline, its own renewal and its own clean-up. What is new is the vote and the token.
//
//	           ask all nodes at once
//	+------+ ------------------------> +----------+   less than a quorum granted: give back,
//	| free |                           |  voting  | --+  wait, ask again
//	+------+ <------------------------ +----------+ <-+
//	   ^ ^    no quorum answers, or         | a quorum granted, and others in a moment
//	   | |    the wait runs out             v
//	   | |                             +----------+
//	   | +---------------------------- | raising  |   T = the highest token; all parts are raised to it
//	   |      no quorum carries T, or  +----------+
//	   |      the leases have run out       | a quorum carries T
//	   |                                    v
//	   |      unlock everywhere        +----------+   fewer than a quorum of parts live   +------+
//	   +------------------------------ |   held   | ------------------------------------> | lost |
//	                                   +----------+                                       +------+
//
// A node that is late, or does not take the token, is given back and is no part of the hold. A silent one is waited
// for an eighth of the lease, from 50 to 250 ms, and only for a moment when enough others have answered. Who
// finds every node busy waits in the line of the first, whose release wakes it. Who has got some nodes and not
// enough gives them back at once, also while others are silent, and comes again after a random pause of up to
// 50 ms. Which nodes may forget is worked out in redlock.go; in short: with the token on k nodes, f of them may,
// as long as f < k + q - n. So run nodes with appendfsync always, or let one that crashed come back only after
// the longest lease.
//
// # What is not reserved
//
// Exclusion without fencing: a server that forgets, a clock that jumps or a process that stops between
// its last check and its write break it. No lock service can do better; compare tokens where you write.
//
// Order between processes: the queue is first come first served, but who polls at the right moment, or
// finds a lock that has just expired, gets it. A process so far away that a wake-up and its answer take more than
// 500 ms may never get its turn beside others who are near.
//
// That waiting ends: who waits for a lock that its own work holds under another owner waits for ever.
// Give the work an owner early (WithOwner), and the wait a bound.
//
// A lock that outlives its server: replication is asynchronous, so what a master grants just before it dies
// may be unknown to the replica that takes its place. WaitReplicas makes that rare, and fencing tokens make it
// harmless.
package locking
