// Package scripts has the Lua scripts that change locks at the server, their calls and their answers. Each script is a file
// of its name; a line "-- include FILE" in it is replaced by that file.
package scripts

import (
	"embed"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var files embed.FS

// The scripts of a Mutex.
var (
	Acquire = load("acquire.lua")
	Release = load("release.lua")
	Renew   = load("renew.lua")
	Token   = load("token.lua")
	Level   = load("level.lua")
	Inspect = load("inspect.lua")
	Force   = load("force.lua")
)

// The scripts of first-come locks.
var (
	FifoAcquire   = load("fifo_acquire.lua")
	FifoHeartbeat = load("fifo_heartbeat.lua")
	FifoRelease   = load("fifo_release.lua")
	FifoRenew     = load("fifo_renew.lua")
	FifoToken     = load("fifo_token.lua")
	FifoInspect   = load("fifo_inspect.lua")
	FifoForce     = load("fifo_force.lua")
)

// Check is about the rights of the user.
var Check = load("check.lua")

// A Script knows the words that its calls begin with, in the form that the client wants, which are strings.
type Script struct{ Source, Hash any }

var include = regexp.MustCompile(`(?m)^-- include (\S+)$`)

// names are those of the scripts, by their hashes.
var names = make(map[string]string)

// NameOf returns the name of the script with a hash, or "".
func NameOf(hash string) string { return names[hash] }

func load(name string) *Script {
	source := include.ReplaceAllStringFunc(read(name), func(line string) string {
		return read(include.FindStringSubmatch(line)[1])
	})
	hash := redis.NewScript(source).Hash()
	names[hash] = strings.TrimSuffix(name, ".lua")
	return &Script{Source: source, Hash: hash}
}

func read(name string) string {
	source, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(source)
}

// firstKey is where a command has its first key.
const firstKey = 3

// A Call is a script with its keys and arguments.
type Call struct {
	Script  *Script
	Command []any // runs the script by its hash

	Patient    bool // try again while the slot moves to another node
	Replicated int  // from so many locks on, replicas must confirm what it grants; 0 for never
}

// NewCall begins a call with that many keys, and room for so many arguments.
func (s *Script) NewCall(keys, args int) Call {
	return Call{Script: s, Command: append(make([]any, 0, firstKey+keys+args), "evalsha", s.Hash, keys)}
}

// CallIn is NewCall in a room for the words, which grows if it is too small.
func (s *Script) CallIn(room []any, keys int) Call {
	return Call{Script: s, Command: append(room, "evalsha", s.Hash, keys)}
}

// With returns the call with more keys or arguments.
func (c Call) With(words ...any) Call {
	c.Command = append(c.Command, words...)
	return c
}

// Key is the first key, which says where the script must run.
func (c Call) Key() string { return c.Command[firstKey].(string) }

// InFull returns the command with the text of the script in place of its hash.
func (c Call) InFull() []any {
	return append([]any{"eval", c.Script.Source}, c.Command[2:]...)
}

// ErrNoAnswer means that the server did not answer in time.
var ErrNoAnswer = errors.New("locking: no answer from the server in time")

// An Attempt is the number of one script call, and an argument of it. Numbers grow with every attempt of the process. The
// argument counts how often the client puts it on the wire. A client cannot be kept from sending a script again, but
// the count shows: sent 0 times, nothing can have happened; sent once and answered, no copy is under way; sent more often,
// a copy may arrive at any time.
type Attempt struct {
	Number int64
	sent   atomic.Int32
	anew   time.Time // when nothing had happened yet, though it had been sent
}

// String returns the number. The client prints what it sends where it is asked to, perhaps while we change the count.
func (a *Attempt) String() string { return strconv.FormatInt(a.Number, 10) }

// Sent reports whether the attempt was sent.
func (a *Attempt) Sent() bool { return a.sent.Load() > 0 }

// Resent reports whether the attempt was sent more than once.
func (a *Attempt) Resent() bool { return a.sent.Load() > 1 }

// NotDone notes that a copy that was sent once has been refused before it did anything.
func (a *Attempt) NotDone() {
	if a.sent.CompareAndSwap(1, 0) {
		a.anew = time.Now()
	}
}

// Began returns the latest time before the server can have done it: start, or when all copies until then had been refused. Call
// it only after an answer.
func (a *Attempt) Began(start time.Time) time.Time {
	if a.anew.After(start) {
		return a.anew
	}
	return start
}

// GiveUp reports whether the attempt has never been sent; then it never will be.
func (a *Attempt) GiveUp() bool { return a.sent.CompareAndSwap(0, -1) }

// MarshalBinary is called by the client each time it writes the argument.
func (a *Attempt) MarshalBinary() ([]byte, error) {
	for {
		sent := a.sent.Load()
		if sent < 0 {
			return nil, ErrNoAnswer // the caller no longer waits
		}
		if a.sent.CompareAndSwap(sent, sent+1) {
			break
		}
	}
	return strconv.AppendInt(nil, a.Number, 10), nil
}
