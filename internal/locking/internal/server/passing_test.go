package server

import (
	"errors"
	"testing"
)

// A refusal that passes is known by its code, whichever server says it and where.
func TestRefusalsThatPass(t *testing.T) {
	for text, want := range map[string]struct{ passes, broken bool }{
		"OOM command not allowed when used memory > 'maxmemory'.": {passes: true},
		"READONLY You can't write against a read only replica.":   {passes: true},
		"ERR max number of clients reached":                       {passes: true},
		"ERR Error running script (call to f_ab): @user_script:25: @user_script: 25: -OOM command not allowed when used memory > " +
			"'maxmemory'.": {passes: true, broken: true},
		"ERR Error running script (call to f_ab): @user_script:25: @user_script: 25: -READONLY You can't write against a read only " +
			"replica.": {passes: true, broken: true},
		"ERR Script attempted to access a non local key in a cluster node script: f_ab, on @user_script:1.": {passes: true, broken: true},
		"ERR Error running script (call to f_ab): @user_script:25: attempt to index a nil value":            {},
		"NOPERM this user has no permissions": {},
		"ERR wrong number of arguments":       {},
	} {
		err := error(refusal(text))
		if IsPassing(err) != want.passes || IsBroken(err) != want.broken {
			t.Errorf("%q: passes %t, broken %t; want %+v", text, IsPassing(err), IsBroken(err), want)
		}
	}
	if err := errors.New("OOM in words of another"); IsPassing(err) || IsBroken(err) {
		t.Error("an error that is no server's passes")
	}
}

// A refusal is an error of the server.
type refusal string

func (r refusal) Error() string { return string(r) }

func (refusal) RedisError() {}
