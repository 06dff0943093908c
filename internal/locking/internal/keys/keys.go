// Package keys says where a lock lives in Redis, and what its holders and its processes are called there.
//
// Keys are lk:{bNNNN}:ROLE:NAME, or with a group lk:{bNNNN}:ROLEn:GROUP:NAME, where n is the length of the group. The
// bucket is the hash of the group (of the name, without one) modulo 1024; it chooses the slot of a cluster.
package keys

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Prefix is how all our keys begin.
const Prefix = "lk:"

// Buckets is how many hash slots the locks are spread over, and how many clock keys there can be.
const Buckets = 1024

// The role of a key tells what it is. It comes before the name, so no name can make a key of one role
// look like a key of another, and locks of different kinds never meet.
const (
	Mutex      = "m"  // hash: holder -> count, seq, token; or claim
	MutexQueue = "mq" // sorted set: waiting process -> score
	Fair       = "f"  // hash: writer -> count, seq, token
	ReadWrite  = "rw" // hash: writer -> count, seq, token
	tombstone  = "x"  // string: an attempt that must not be granted any more
	Clock      = "clock"
)

// The other keys of a first-come lock: the key's role is the lock's role followed by one of these.
const (
	Readers    = "r" // sorted set: reader -> expiry
	Counts     = "c" // hash: reader -> count, seq and token; token of the phase
	Writing    = "q" // sorted set: waiting writer -> score
	Reading    = "s" // sorted set: waiting reader -> score; they share the lock
	Heartbeats = "h" // sorted set: waiter -> deadline of its heartbeat
	Pulse      = "p" // string: from when on the dead may be dropped
)

// A Bucket is the beginning of all keys of a lock: "lk:{bNNNN}:". The first braces of a key are ours, so a name with
// braces cannot choose its slot, and a group shares one.
type Bucket string

// BucketOf returns the bucket of a group, or of a name without one.
func BucketOf(group, name string) Bucket {
	tag := group
	if tag == "" {
		tag = name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(tag)) // a hash never refuses
	return Bucket(fmt.Sprintf(Prefix+"{b%04d}:", hash.Sum32()%Buckets))
}

// Key returns the key of a role and the tail of a lock.
func (b Bucket) Key(role string, to Tail) string { return string(b) + role + string(to) }

// Clock returns the key of the bucket's last fencing token.
func (b Bucket) Clock() string { return string(b) + Clock }

// Tombstone returns the key that cancels an attempt of a process.
func (b Bucket) Tombstone(process string, attempt int64) string {
	return string(b) + tombstone + ":" + process + ":" + strconv.FormatInt(attempt, 10)
}

// A Tail is a group and a name as keys end with them, after a role: "LENGTH-OF-GROUP:GROUP:NAME", or ":NAME" without a
// group. No two locks have one tail, whatever bytes they are made of: bucket and role have no colon and no role ends
// with a digit, the length says where the group ends, and the name is all that follows.
type Tail string

// TailOf returns the tail of a lock.
func TailOf(group, name string) Tail {
	if group == "" {
		return Tail(":" + name)
	}
	return Tail(strconv.Itoa(len(group)) + ":" + group + ":" + name)
}

// ParseMutex reads the state key of a mutex.
func ParseMutex(state string) (Bucket, Tail, bool) {
	bucket, rest, _ := strings.Cut(state, "}:")
	tail, ok := strings.CutPrefix(rest, Mutex)
	ok = ok && strings.IndexAny(tail, ":0123456789") == 0 // else the role goes on
	return Bucket(bucket + "}:"), Tail(tail), ok
}

// WakeChannel is where a process listens for its wake-ups. The scripts know the prefix too.
func WakeChannel(process string) string { return "lk:wake:" + process }

// Holder returns the id of a holder at the server: of one grant to an owner, and no other before or after it.
func Holder(process, owner string, attempt int64) string {
	return process + ":" + owner + ":" + strconv.FormatInt(attempt, 10)
}

// SharedHolder returns the id of a holder for as long as the lock passes from owner to owner inside a process: the
// server cannot know which of them has it just now.
func SharedHolder(process string, attempt int64) string {
	return process + ":*" + strconv.FormatInt(attempt, 10)
}

// OwnerOf returns the owner in a holder's id: the process, a colon, and the owner's own id.
func OwnerOf(id string) string {
	if first, last := strings.IndexByte(id, ':'), strings.LastIndexByte(id, ':'); first < last {
		return id[:last]
	}
	return id
}
