package locking

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// keyPrefix is how all our keys begin.
const keyPrefix = "lk:"

// buckets is how many hash slots the locks are spread over, and how many clock keys there can be.
const buckets = 1024

// The role of a key tells what it is. It comes before the name, so no name can make a key of one role
// look like a key of another, and locks of different kinds never meet.
const (
	roleMutex      = "m"  // hash: holder -> count, seq, token; or claim
	roleMutexQueue = "mq" // sorted set: waiting process -> score
	roleFair       = "f"  // hash: writer -> count, seq, token
	roleReadWrite  = "rw" // the same
	roleTombstone  = "x"  // string: an attempt that must not be granted any more
	roleClock      = "clock"
)

// What a first-come lock keeps beside its state: the key's role is the lock's with one of these behind.
const (
	roleReaders    = "r" // sorted set: reader -> expiry
	roleCounts     = "c" // hash: reader -> count, seq and token; token of the phase
	roleWriting    = "q" // sorted set: waiting writer -> score
	roleReading    = "s" // sorted set: waiting reader -> score; they share the lock
	roleHeartbeats = "h" // sorted set: waiter -> deadline of its heartbeat
	rolePulse      = "p" // string: from when on the dead may be dropped
)

// place is the bucket of a lock, as the beginning of all its keys: "lk:{bNNNN}:". The first braces of a
// key are ours, so a name with braces cannot choose its slot, and a group shares one.
type bucket string

// placeOf returns the bucket of a group, or of a name that stands alone.
func bucketOf(group, name string) bucket {
	tag := group
	if tag == "" {
		tag = name
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(tag)) // a hash never refuses
	return bucket(fmt.Sprintf(keyPrefix+"{b%04d}:", hash.Sum32()%buckets))
}

// key returns the key of a role and the tail of a lock.
func (p bucket) key(role string, to tail) string { return string(p) + role + string(to) }

// A tail is a group and a name as keys end with them, after a role: "LENGTH-OF-GROUP:GROUP:NAME", or ":NAME" without a
// group. It is injective, whatever bytes both are made of: bucket and role have no colon and no role ends with a digit,
// the length says where the group ends, and the name is all that follows.
type tail string

func tailOf(group, name string) tail {
	if group == "" {
		return tail(":" + name)
	}
	return tail(strconv.Itoa(len(group)) + ":" + group + ":" + name)
}

// name returns the name in a tail, if it is one.
func (t tail) name() (name string, ok bool) {
	length, rest, ok := strings.Cut(string(t), ":")
	if !ok || length == "" {
		return rest, ok
	}
	n, err := strconv.Atoi(length)
	if err != nil || n < 1 || n >= len(rest) || rest[n] != ':' {
		return "", false
	}
	return rest[n+1:], true
}

// clock returns the key of the bucket's last fencing token.
func (p bucket) clock() string { return string(p) + roleClock }

// tombstones returns the beginning of the keys that cancel the attempts of a process: the number follows.
func (p bucket) tombstones(process string) string {
	return string(p) + roleTombstone + ":" + process + ":"
}

// wakeChannel is where a process listens for its wake-ups. wake.lua knows the prefix too.
func wakeChannel(process string) string { return "lk:wake:" + process }
