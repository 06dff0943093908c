package locksim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An edit is a change of source files: what is found is replaced. It has to be there.
type edit struct{ files, find, with string }

const (
	luaFiles = "../internal/scripts/*.lua"
	goFiles  = "../*.go"
)

// faults are what could be wrong with the scripts and the client. Random histories find each, and say one of the words.
var faults = []struct {
	name  string
	edits []edit
	says  string
}{
	{
		name: "a release without waking",
		edits: []edit{
			{luaFiles, "if passes then wake(", "if false then wake("},
			{luaFiles, "if passes and call('EXISTS', beats, pulse) > 0 then wake()", "if false then wake()"},
		},
		says: "which nobody held",
	},
	{
		name: "a renewal that extends a lost hold",
		edits: []edit{
			{luaFiles, "if not held[1] then return 0 end\nlocal begun", "if not held[1] then return 1 end\nlocal begun"},
			{luaFiles, "if expiry <= now then return 0 end\nlocal mark", "if expiry <= now then return 1 end\nlocal mark"},
		},
		says: "is not told|while p",
	},
	{
		name:  "a token that is not raised",
		edits: []edit{{luaFiles, "last + (last < 2^53 and 1 or 2)", "last"}},
		says:  "with token",
	},
	{
		name: "an enqueue without expiry",
		edits: []edit{
			{luaFiles, "call('PEXPIRE', queue, 60000)", ""},
			{luaFiles, "call('PEXPIRE', queue, queue_life)", ""},
		},
		says: "has no TTL",
	},
	{
		name:  "the dead are searched only among heartbeats",
		edits: []edit{{luaFiles, "or expect())", "or 0)"}},
		says:  "still waits|which nobody held|asks too often",
	},
	{
		name:  "a waiter that asks again at once",
		edits: []edit{{"../internal/policy/policy.go", "return max(busy, Sooner)", "return time.Nanosecond"}},
		says:  "asks too often",
	},
	{
		name: "a release of another owner's lock",
		edits: []edit{
			{luaFiles, "local passes = call('HEXISTS', state, id) == 1", "local passes = call('EXISTS', state) == 1"},
			{luaFiles, "if call('HEXISTS', state, id) == 0 then return 0, false end", "if call('EXISTS', state) == 0 then return 0, false end"},
		},
		says: "while p|no order",
	},
	{
		name:  "a reader that enters beside a writer",
		edits: []edit{{luaFiles, "if held[1] and not held[2] then", "if side == 'write' and held[1] and not held[2] then"}},
		says:  "while p",
	},
	{
		name:  "a MultiLock that keeps a part after its error",
		edits: []edit{{goFiles, "_ = unlockAll(acq.ctx, taken, true)", "_ = taken"}},
		says:  "who does not|with token|which nobody held|still waits",
	},
	{
		name: "a wake-up that is trusted without asking",
		edits: []edit{{goFiles, "	answer, trusted, err := l.send(acq, q)\n", `
	answer, trusted, err := scripts.Acquired{Tokens: []scripts.Tokens{{First: time.Now().UnixMicro()}}}, q.start.Add(l.lease), error(nil)
	l.mu.Lock()
	st := l.states[missing[0].lock.stateKey]
	called := len(q.run) == 1 && st != nil && st.called
	l.mu.Unlock()
	if !called {
		answer, trusted, err = l.send(acq, q)
	}
`}},
		says: "while p|no order",
	},
}

// TestFaultsFindWhatTheyChange: what was moved can still be broken.
func TestFaultsFindWhatTheyChange(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) { broken(t, fault.edits) })
	}
}

// broken returns the files with a fault, by the paths of the sources, which stay as they are.
func broken(t *testing.T, edits []edit) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, e := range edits {
		names, err := filepath.Glob(e.files)
		ok(t, err)
		found := false
		for _, name := range names {
			path, err := filepath.Abs(name)
			ok(t, err)
			text, known := texts[path]
			if !known {
				source, err := os.ReadFile(path)
				ok(t, err)
				text = string(source)
			}
			if strings.Contains(text, e.find) {
				found, texts[path] = true, strings.ReplaceAll(text, e.find, e.with)
			}
		}
		if !found {
			t.Fatalf("no file of %s has %q", e.files, e.find)
		}
	}
	files, folder := make(map[string]string), t.TempDir()
	for path, text := range texts {
		files[path] = filepath.Join(folder, filepath.Base(path))
		ok(t, os.WriteFile(files[path], []byte(text), 0o600))
	}
	return files
}
