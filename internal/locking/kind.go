package locking

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// An address is where a lock lives in Redis: how its keys begin and end. Keys are lk:{bNNNN}:ROLE:NAME, or with a group
// lk:{bNNNN}:ROLEn:GROUP:NAME, where n is the length of the group. No two locks have one tail, whatever bytes they are made of:
// bucket and role have no colon and no role ends with a digit, the length says where the group ends, and the name is all that
// follows.
type address struct {
	bucket string // "lk:{bNNNN}:" chooses the slot of a cluster: the first braces of a key are ours, so a name cannot choose it
	tail   string // "LENGTH-OF-GROUP:GROUP:NAME", or ":NAME" without a group
}

const (
	keyPrefix  = "lk:"
	allBuckets = 1024 // how many hash slots the locks are spread over, and how many clock keys there can be
)

// The role of a key tells what it is. It comes before the name, so no name can make a key of one role
// look like a key of another, and locks of different kinds never meet.
const (
	roleMutex      = "m"  // hash: holder, token; or claim
	roleMutexQueue = "mq" // sorted set: waiting process -> score
	roleFair       = "f"  // hash: writer, token
	roleReadWrite  = "rw" // hash: writer, token
	roleTombstone  = "x"  // string: an attempt that must not be granted any more
	roleClock      = "clock"
)

// The other keys of a first-come lock: the key's role is the lock's role followed by one of these.
const (
	partReaders    = "r" // sorted set: reader -> expiry
	partTokens     = "c" // hash: reader -> token; token of the phase
	partWriting    = "q" // sorted set: waiting writer -> score
	partReading    = "s" // sorted set: waiting reader -> score; they share the lock
	partHeartbeats = "h" // sorted set: waiter -> deadline of its heartbeat
	partPulse      = "p" // string: from when on the dead may be dropped
)

// A MutexOption configures a lock.
type MutexOption func(group *string)

// Group places the lock in the slot of a group, with all other locks of that group: a MultiLock over them takes them in one
// round trip. The group is part of the lock's address: all processes must use the same one. The same name in another group,
// or in none, is another lock.
func Group(name string) MutexOption { return func(group *string) { *group = name } }

// addressOf returns the address of a lock. The bucket is the hash of its group, or of its name if it has none.
func addressOf(name string, opts []MutexOption) address {
	group := ""
	for _, opt := range opts {
		opt(&group)
	}
	hashed, tail := group, strconv.Itoa(len(group))+":"+group+":"+name
	if group == "" {
		hashed, tail = name, ":"+name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(hashed)) // a hash never refuses
	return address{fmt.Sprintf(keyPrefix+"{b%04d}:", hash.Sum32()%allBuckets), tail}
}

// key returns the key of a role.
func (a address) key(role string) string { return a.bucket + role + a.tail }

// clock returns the key of the bucket's last fencing token.
func (a address) clock() string { return a.bucket + roleClock }

// wakeChannel is where a process listens for its wake-ups. The scripts know the prefix too.
func wakeChannel(process string) string { return keyPrefix + "wake:" + process }

// holderID names a holder at the server: one grant to an owner, and no other before or after it.
func holderID(process, owner string, attempt int64) string {
	return process + ":" + owner + ":" + strconv.FormatInt(attempt, 10)
}

// sharedID names a holder for as long as the lock passes from owner to owner inside a process: the server cannot know which of
// them has it just now.
func sharedID(process string, attempt int64) string {
	return process + ":*" + strconv.FormatInt(attempt, 10)
}

// ownerOf returns the owner in a holder's id: the process, a colon, and the owner's own id.
func ownerOf(id string) string {
	if first, last := strings.IndexByte(id, ':'), strings.LastIndexByte(id, ':'); first < last {
		return id[:last]
	}
	return id
}

// A lock is one lock, of any kind.
type lock struct {
	address
	locks    *Locks
	kind     kind
	name     string
	stateKey string // the key of its state, which also names it in wake-ups
	queueKey string
	order    string // its place in the order of all locks
}

func (l *Locks) lockAt(k kind, name string, at address, stateRole, queueRole string) lock {
	a := lock{address: at, locks: l, kind: k, name: name, stateKey: at.key(stateRole), queueKey: at.key(queueRole)}
	a.order = a.stateKey + "\x00" + l.address
	return a
}

// self returns the lock that a handle embeds.
func (a *lock) self() *lock { return a }

// position returns where the lock stands in the order of all locks.
func (a *lock) position() position { return position{a.order, a.locks.process} }

// Name returns the name that the lock was made with.
func (a *lock) Name() string { return a.name }

// tombstone returns the key that cancels an attempt. Number 0 means no attempt: the script needs some key anyway, and does
// not write it.
func (a *lock) tombstone(number int64) string {
	if number == 0 {
		return a.clock()
	}
	return a.bucket + roleTombstone + ":" + a.locks.process + ":" + strconv.FormatInt(number, 10)
}

// A kind of lock is the set of its scripts. The registry, the watchdog and the cleaner know nothing else of it.
type kind interface {
	// is names the kind for an Observer.
	is() Kind

	// newAsker asks for locks that are in order, of one bucket and of equal kinds, each named once.
	newAsker(acq *acquisition, run []*target) asker

	// renewal extends a grant.
	renewal(g *grant, lease time.Duration) scripts.Call

	// releasing is the script call of a releaseCall.
	releasing(s *releaseCall) scripts.Call

	// raising asks for a token above n.
	raising(g *grant, n int64) scripts.Call

	// inspecting reads the state of a lock.
	inspecting(a *lock) scripts.Call

	// forcing takes a lock from the holders that were seen.
	forcing(a *lock, seen sighting) scripts.Call
}

// A sighting is who held a lock at an instant.
type sighting struct {
	at  int64 // ms of the server's clock
	ids []any // the ids of the holders, strings
}

// until is up to when a script about these holders may come, in ms of the server's clock.
func (s sighting) until() int64 { return s.at + policy.Release.Milliseconds() }

// mutexKind is the scripts of the Mutex.
type mutexKind struct{}

func (mutexKind) is() Kind { return KindMutex }

func (mutexKind) renewal(g *grant, lease time.Duration) scripts.Call { return renewing(g, lease) }

// renewing extends a state that has one holder. It names no other key: while a slot moves, a script with a key that does not
// exist is refused.
func renewing(g *grant, lease time.Duration) scripts.Call {
	return scripts.Renew.NewCall(1, 2).With(g.lock.stateKey, g.id, lease.Milliseconds())
}

func (mutexKind) raising(g *grant, n int64) scripts.Call {
	return scripts.Token.NewCall(2, 2).With(g.lock.clock(), g.lock.stateKey, g.id, n)
}

// leveling asks for a token that is not below one of another server.
func leveling(g *grant, token int64) scripts.Call {
	return scripts.Level.NewCall(2, 2).With(g.lock.clock(), g.lock.stateKey, g.id, token)
}

func (mutexKind) inspecting(a *lock) scripts.Call {
	return scripts.Inspect.NewCall(2, 0).With(a.stateKey, a.queueKey)
}

func (mutexKind) forcing(a *lock, seen sighting) scripts.Call {
	return scripts.Force.NewCall(2, 2+len(seen.ids)).With(a.stateKey, a.queueKey, policy.ReservationMS, seen.until()).With(seen.ids...)
}

func (mutexKind) releasing(s *releaseCall) scripts.Call {
	count := 2 * len(s.rows)
	if s.tombstone != 0 {
		count++
	}
	call := scripts.Release.NewCall(count, 3+2*len(s.rows))
	for _, r := range s.rows {
		call = call.With(r.lock.stateKey, r.lock.queueKey)
	}
	if s.tombstone != 0 {
		call = call.With(s.rows[0].lock.tombstone(s.tombstone))
	}
	call = call.With(&s.attempt, policy.ReservationMS)
	for _, r := range s.rows {
		if r.id == "" { // no holder: the row is about the queue
			r.id = r.lock.locks.process + ":"
		}
		call = call.With(r.id, cmp.Or(r.queue, scripts.QueueStay))
	}
	if s.tombstone != 0 {
		call = call.With(s.tombstoneFor.Milliseconds())
	}
	return call
}

// A fifo is one side of a first-come lock, with its scripts. No two values of this type are equal, so such locks
// are taken and given back one at a time. Each side has its own address, so that the registry tells them apart: the writing
// side is the lock's state, the reading side its readers.
type fifo struct {
	lock
	kindName  Kind
	side      string
	wakeKey   string   // the key that names the lock in wake-ups
	otherKey  string   // the state of the other side; empty if there is none
	tokensKey string   // the key of the readers' tokens
	keys      []string // all keys between the tombstone and the clock, in the order of fifo.lua
}

// fifoAt returns a side of the first-come lock of a name.
func (l *Locks) fifoAt(is Kind, role, name string, opts []MutexOption) *fifo {
	f := &fifo{kindName: is, side: scripts.Write}
	f.lock = l.lockAt(f, name, addressOf(name, opts), role, role+partWriting)
	for _, part := range []string{"", partReaders, partTokens, partWriting, partReading, partHeartbeats, partPulse} {
		f.keys = append(f.keys, f.key(role+part))
	}
	f.wakeKey, f.tokensKey = f.stateKey, f.key(role+partTokens)
	readers := f.key(role + partReaders)
	switch is {
	case KindWrite:
		f.otherKey = readers
	case KindRead:
		f.side = scripts.Read
		f.otherKey, f.stateKey, f.queueKey = f.stateKey, readers, f.key(role+partReading)
		f.order += "\x00r" // after the writing side of the same lock, and before every other lock
	}
	return f
}

// newCall begins the call of a script about this side. It cancels an attempt, or 0 for none; then the clock's key
// stands in place of a tombstone.
func (f *fifo) newCall(s *scripts.Script, cancels int64, args int) scripts.Call {
	call := s.NewCall(2+len(f.keys), args).With(f.tombstone(cancels))
	for _, key := range f.keys {
		call = call.With(key)
	}
	return call.With(f.clock())
}

func (f *fifo) is() Kind { return f.kindName }

func (f *fifo) renewal(g *grant, lease time.Duration) scripts.Call {
	if f.side == scripts.Write {
		return renewing(g, lease)
	}
	return scripts.FifoRenew.NewCall(2, 2).With(f.stateKey, f.tokensKey, g.id, lease.Milliseconds())
}

func (f *fifo) raising(g *grant, n int64) scripts.Call {
	return f.newCall(scripts.FifoToken, 0, 4).With(f.side, g.id, n, f.otherSideLocked(g.owner))
}

// otherSideLocked returns the id of the holder by which the server knows an owner on the other side, or "".
func (f *fifo) otherSideLocked(who *owner) string {
	if g := f.locks.grantOfLocked(f.otherKey, who); g != nil {
		return g.id
	}
	return ""
}

func (f *fifo) inspecting(*lock) scripts.Call { return f.newCall(scripts.FifoInspect, 0, 0) }

func (f *fifo) forcing(_ *lock, seen sighting) scripts.Call {
	return f.newCall(scripts.FifoForce, 0, 3+len(seen.ids)).With(f.side, policy.WaiterLifeMS, seen.until()).With(seen.ids...)
}

// releasing passes the ticket of a waiter that leaves in the row's queue action.
func (f *fifo) releasing(s *releaseCall) scripts.Call {
	r := s.rows[0]
	return f.newCall(scripts.FifoRelease, s.tombstone, 7).With(f.locks.process, &s.attempt, f.side, r.id, r.queue,
		s.tombstoneFor.Milliseconds(), policy.WaiterLifeMS)
}
