package locking

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
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
	roleMutex      = "m"  // hash: holder -> count, seq, token; or claim
	roleMutexQueue = "mq" // sorted set: waiting process -> score
	roleFair       = "f"  // hash: writer -> count, seq, token
	roleReadWrite  = "rw" // hash: writer -> count, seq, token
	roleTombstone  = "x"  // string: an attempt that must not be granted any more
	roleClock      = "clock"
)

// The other keys of a first-come lock: the key's role is the lock's role followed by one of these.
const (
	partReaders    = "r" // sorted set: reader -> expiry
	partCounts     = "c" // hash: reader -> count, seq and token; token of the phase
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

// mutexQueue returns the key of a mutex's queue, for that of its state.
func mutexQueue(state string) (queue string, ok bool) {
	bucket, tail, ok := strings.Cut(state, "}:"+roleMutex)
	return bucket + "}:" + roleMutexQueue + tail, ok
}

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
