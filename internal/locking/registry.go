package locking

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
	"inventory/internal/locking/internal/subscription"
)

// Locks is one process's way to the locks on one Redis: its identity, its watchdog, its subscription and
// its lock states. Make one per server and process, and share it. It is safe for concurrent use.
type Locks struct {
	server    *server.Server
	process   string        // names this process in the states, queues and channels
	lease     time.Duration // what holds get that the watchdog renews
	leaseWord any           // the same in ms, as a word of a call
	observer  Observer
	address   string       // names the server, for the order of locks that all processes share
	numbers   atomic.Int64 // number of the last attempt

	subscription *subscription.Subscription
	subscribed   sync.Once // it begins with the first wait

	cleaning sync.Mutex
	cleanups []*releaseCall // what the cleaner is to do; guarded by cleaning, as are their ends
	unclean  chan struct{}  // with room for one: there is something

	hurry   chan struct{}  // with room for one: the watchdog is to renew at once
	closing chan struct{}  // closed: waiting ends
	stop    chan struct{}  // closed: the loops end
	calls   sync.WaitGroup // Lock, TryLock and Unlock, while they run
	loops   sync.WaitGroup // the watchdog, the cleaner, the heartbeat, the subscription

	mu     sync.Mutex
	closed bool

	// The registry, which is what this process knows of its locks: what it holds, and who waits for what. Guarded by mu.
	states map[string]*lockState // by state key
	grants map[share]*grant
	asking map[share]chan struct{} // a caller asks the server for a first-come lock; closed when it no longer does
}

// enter begins a call that Close waits for; it ends with l.calls.Done.
func (l *Locks) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.calls.Add(1)
	return nil
}

// signal sends to a channel with room for one. A signal that is there already says the same.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A share is what one owner has to do with one lock.
type share struct {
	state string
	owner *owner
}

// grantOfLocked returns what an owner has of the lock with a state key, or is about to have; or nil.
func (l *Locks) grantOfLocked(state string, who *owner) *grant {
	if g := l.grants[share{state, who}]; g != nil && len(g.holds)+g.joining > 0 {
		return g
	}
	return nil
}

// A waiter is a caller in a line. Guarded by Locks.mu.
type waiter struct {
	owner   *owner
	lease   time.Duration
	asking  bool          // it is asking the server, and cannot be handed the lock meanwhile
	leaving bool          // its caller has gone; it stays until the server was asked to take the process out of the queue
	handed  *grant        // what it was handed; then it is no longer in the line
	woken   chan struct{} // with room for one: look again

	// Of a first-come lock only:
	ticket string // its number at the server
	fifo   *fifo
	placed bool // it may be in the queue
}

// looks forgets the wake-ups so far: the caller looks now, and what comes from now on is new.
func (w *waiter) looks() {
	select {
	case <-w.woken:
	default:
	}
}

// A lockState is what this process knows of one lock: of a mutex while it holds it or waits for it, of both sides of a first-come
// lock while it waits.
type lockState struct {
	waiters []*waiter // first come, first served
	room    [1]*waiter

	// Of a mutex only:
	grant  *grant // this process holds the lock
	queued bool   // the process may be in the server's queue, or may have its reservation
	placed bool   // the server has said that it is in the queue
	called bool   // a wake-up has come since
}

func (l *Locks) stateOfLocked(key string) *lockState {
	st := l.states[key]
	if st == nil {
		st = &lockState{}
		st.waiters = st.room[:0]
		l.states[key] = st
	}
	return st
}

// tidyLocked forgets a lock state with nothing in it.
func (l *Locks) tidyLocked(key string) {
	if st := l.states[key]; st != nil && len(st.waiters) == 0 && st.grant == nil {
		delete(l.states, key)
	}
}

// removeLocked takes a waiter out of the line for a lock, and calls the next head. In a first-come lock the server does.
func (l *Locks) removeLocked(key string, w *waiter) {
	st := l.states[key]
	i := slices.Index(st.waiters, w)
	st.waiters = slices.Delete(st.waiters, i, i+1)
	if i == 0 && w.fifo == nil {
		st.wakeHeadLocked()
	}
	l.tidyLocked(key)
}

func (st *lockState) wakeHeadLocked() {
	if len(st.waiters) > 0 {
		signal(st.waiters[0].woken)
	}
}

// wakeLocked lets those waiters look again that are meant. They need not wait for the server's answer.
func (st *lockState) wakeLocked(meant func(w *waiter) bool) {
	for _, w := range st.waiters {
		if meant(w) {
			signal(w.woken)
		}
	}
}

// wakeOwnerLocked lets all callers of an owner except one look again.
func (st *lockState) wakeOwnerLocked(who *owner, but *waiter) {
	st.wakeLocked(func(w *waiter) bool { return w.owner == who && w != but })
}

// A lock is one lock, of any kind.
type lock struct {
	address
	locks    *Locks
	kind     lockKind
	name     string
	stateKey string // the key of its state, which also names it in wake-ups
	queueKey string
	order    string // its place in the order of all locks

	clockWord, stateWord, queueWord any // the keys of a mutex, as words of a call
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

func (l *Locks) lockAt(k lockKind, name string, at address, stateRole, queueRole string) lock {
	a := lock{address: at, locks: l, kind: k, name: name, stateKey: at.key(stateRole), queueKey: at.key(queueRole)}
	a.order = a.stateKey + "\x00" + l.address
	a.clockWord, a.stateWord, a.queueWord = a.clock(), a.stateKey, a.queueKey
	return a
}

// self returns the lock that a handle embeds.
func (a *lock) self() *lock { return a }

func (a *lock) position() position { return position{a.order, a.locks.process} }

// Name returns the name that the lock was made with.
func (a *lock) Name() string { return a.name }

// tombstone returns the key that cancels an attempt. Number 0 means no attempt: the script needs some key anyway, and does
// not write it.
func (a *lock) tombstone(number int64) string {
	if number == 0 {
		return a.clock()
	}
	var room [96]byte
	key := append(append(append(append(append(room[:0], a.bucket...), roleTombstone...), ':'), a.locks.process...), ':')
	return string(strconv.AppendInt(key, number, 10))
}

// A lockKind is the set of scripts of a kind of lock. The registry, the watchdog and the cleaner know nothing else of it.
type lockKind interface {
	// is names the kind for an Observer.
	is() Kind

	// newAsker asks for locks that are in order, of one bucket and of equal kinds, each named once.
	newAsker(acq *acquisition, run []*target) asker

	// renewing begins the call of the script that extends the lease of a grant, or begins its fixed one.
	renewing(a *lock) scripts.Call

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

// A grant is one time that an owner has a lock. It has one token, and a lease with an id of its own at the server, so that a script
// call about one lease cannot touch another, not even one of the same owner. The lease begins with a script call. An owner that
// unlocks may hand it on to the next one of this process, whose grant goes on with it.
//
// The server knows a lease, and not how many holds it has: those are counted here. A re-entry renews the lease, and the end of the
// last hold gives it back, unless a caller is under way that may still get a hold.
type grant struct {
	lock    *lock
	owner   *owner
	token   int64
	holds   []*singleHold
	room    [1]*singleHold
	first   singleHold // the room of the first one
	joining int        // how many callers may still get a hold: they re-enter, or were handed the lock
	closing bool       // it is being given back
	gone    bool       // the server no longer has it
	told    bool       // the server is told, or has been, that its fixed lease begins, as a part of a MultiLock

	// The lease.
	id         any // as whom the server knows the holder, a string: no other lease has had this id, or will
	duration   time.Duration
	longest    time.Duration // the longest that the server has got
	resent     int64         // the attempt that took it, if a copy of that may still arrive; otherwise 0
	next, last int64         // tokens in reserve, for the next owners of this process
	begun      time.Time     // when the script was sent that took it
	came       time.Time     // when its answer came
}

// renewal extends the lease, or begins a fixed one.
func (g *grant) renewal(lease time.Duration, purpose string) scripts.Call {
	call := g.lock.kind.renewing(g.lock).With(g.id, lease.Milliseconds())
	if purpose == scripts.ForHold { // the usual
		return call
	}
	return call.With(purpose)
}

// key is a key of the grant, which determines the node.
func (g *grant) key() string { return g.lock.stateKey }

// dropReserveLocked keeps the lease from other owners, because its token rises, or the server has got another duration.
func (g *grant) dropReserveLocked() { g.next, g.last = 0, -1 }

// trust is how long after the start of an attempt its lease can be relied on. It is less than the lease: the two clocks
// may run at slightly different speeds, and the end of a context takes a moment to be noticed.
func trust(lease time.Duration) time.Duration { return lease - lease/100 - 2*time.Millisecond }

// A singleHold is a hold of a single lock. Fields that may change are guarded by Locks.mu.
type singleHold struct {
	Hold
	locks    *Locks
	grant    *grant
	since    time.Time
	lease    time.Duration
	fixed    bool        // the watchdog does not renew it
	waits    bool        // its fixed lease has not begun
	late     bool        // that of another hold of the grant has: only a renewal as of any hold keeps it
	deadline time.Time   // until when it can be relied on
	expiry   *time.Timer // loses it then
	lost     bool
	unlocked bool // Unlock has been called
	alone    [1]*singleHold
	back     bool // its owner may wait for locks before it
}

// isOverLocked reports whether the time of a hold is over, also if nobody has noticed that yet.
func (h *singleHold) isOverLocked(now time.Time) bool { return !now.Before(h.deadline) }

// wantsRenewalLocked reports whether the watchdog renews a hold. After its context has ended, most of its lease is left for Unlock.
func (h *singleHold) wantsRenewalLocked() bool { return !h.fixed && h.ctx.Err() == nil }

// isLateLocked reports whether a hold that the watchdog renews has less left than the next turn needs.
func (h *singleHold) isLateLocked() bool {
	return h.wantsRenewalLocked() && time.Until(h.deadline) < h.lease-policy.AfterRenewal(h.lease, true)
}

// singlesOf returns the holds of single locks that these holds consist of.
func singlesOf(holds []*Hold) []*singleHold {
	var singles []*singleHold
	for _, h := range holds {
		if s, ok := h.held.(*singleHold); ok {
			singles = append(singles, s)
		}
		singles = append(singles, singlesOf(h.parts)...)
	}
	return singles
}

// A releaseCall gives back some locks of one bucket and kind at the server.
type releaseCall struct {
	rows         []releaseRow // one for each lock
	room         [1]releaseRow
	attempt      scripts.Attempt
	tombstone    int64 // the attempt to cancel
	tombstoneFor time.Duration

	// If the cleaner makes the call; tries and what follows guarded by Locks.cleaning:
	until     time.Time     // it is repeated until then; zero: it is tried once
	leaver    *waiter       // who is out of the line after the first try; may be nil
	done      chan struct{} // closed after the first try
	tries     int
	confirmed bool // the server has done it
}

// A releaseRow is what a releaseCall says about one lock.
type releaseRow struct {
	lock  *lock
	grant *grant // what it gives back; may be nil
	id    any    // as whom the server knows the holder, a string; nil for none
	queue string // what to do about the queue; empty for nothing
}

// key is a key of the call, which determines the node.
func (s *releaseCall) key() string { return s.rows[0].lock.stateKey }

// call returns a new script call for each try.
func (s *releaseCall) call() scripts.Call { return s.rows[0].lock.kind.releasing(s) }

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
	var room [96]byte
	id := append(append(append(append(room[:0], process...), ':'), owner...), ':')
	return string(strconv.AppendInt(id, attempt, 10))
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
