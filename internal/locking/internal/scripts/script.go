// Package scripts has the Lua scripts that change locks at the server, their calls and their answers. Each script is a file
// of its name; a line "-- include FILE" in it is replaced by that file.
package scripts

import (
	"embed"
	"regexp"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var files embed.FS

// The scripts of a Mutex.
var (
	Acquire = load("acquire.lua")
	Handoff = load("handoff.lua")
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

func load(name string) *Script {
	source := include.ReplaceAllStringFunc(read(name), func(line string) string {
		return read(include.FindStringSubmatch(line)[1])
	})
	return &Script{Source: source, Hash: redis.NewScript(source).Hash()}
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
	Command []any // that runs it by its hash

	Patient    bool // try again while the slot moves to another node
	Replicated int  // from so many locks on, replicas must confirm what it grants; 0 for never
}

// NewCall begins a call with that many keys, and room for so many arguments.
func (s *Script) NewCall(keys, args int) Call {
	return Call{Script: s, Command: append(make([]any, 0, firstKey+keys+args), "evalsha", s.Hash, keys)}
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
