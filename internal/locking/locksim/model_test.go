package locksim_test

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"inventory/internal/busytest"
	"inventory/internal/locking/locksim"
)

// An episode is an operation between two moments; until 0 it has no end.
type episode struct {
	op          locksim.Op
	from, until int
}

// historyOf makes a history of episodes.
func historyOf(episodes []episode) *locksim.History {
	begin := time.Unix(1_000_000, 0)
	at := func(n int) time.Time {
		if n == 0 {
			return time.Time{}
		}
		return begin.Add(time.Duration(n) * time.Millisecond)
	}
	h := &locksim.History{}
	for _, e := range episodes {
		h.Add(e.op, at(e.from), at(e.until))
	}
	return h
}

func lock(owner string, token int64) locksim.Op {
	return locksim.Op{Kind: locksim.OpLock, Owner: owner, Token: token}
}

func told(owner string, token int64, before ...int64) locksim.Op {
	return locksim.Op{Kind: locksim.OpLock, Owner: owner, Token: token, Before: before}
}

func unlock(owner string, token int64) locksim.Op {
	return locksim.Op{Kind: locksim.OpUnlock, Owner: owner, Token: token}
}

func end(owner string, token int64) locksim.Op {
	return locksim.Op{Kind: locksim.OpEnd, Owner: owner, Token: token}
}

func done(what locksim.Kind, token int64) locksim.Op {
	return locksim.Op{Kind: what, Token: token}
}

func busy(owner string) locksim.Op { return locksim.Op{Kind: locksim.OpBusy, Owner: owner} }

func read(owner string, token int64) locksim.Op {
	return locksim.Op{Kind: locksim.OpRead, Owner: owner, Token: token}
}

func unread(owner string, token int64) locksim.Op {
	return locksim.Op{Kind: locksim.OpReadUnlock, Owner: owner, Token: token}
}

func unreadSome(owner string, token int64) locksim.Op {
	return locksim.Op{Kind: locksim.OpReadEnd, Owner: owner, Token: token}
}

func TestModels(t *testing.T) {
	for _, test := range []struct {
		name     string
		episodes []episode
		want     porcupine.CheckResult
	}{
		{"one after the other", []episode{
			{lock("a", 1), 1, 2}, {unlock("a", 1), 3, 4}, {lock("b", 2), 1, 5},
		}, porcupine.Ok},
		{"two at once", []episode{{lock("a", 1), 1, 2}, {lock("b", 2), 3, 4}, {unlock("a", 1), 5, 6}}, porcupine.Illegal},
		{"a token twice", []episode{{lock("a", 1), 1, 2}, {unlock("a", 1), 3, 4}, {lock("b", 1), 5, 6}}, porcupine.Illegal},
		{"a token that shrinks", []episode{{lock("a", 7), 1, 2}, {unlock("a", 7), 3, 4}, {lock("b", 6), 5, 6}}, porcupine.Illegal},
		{"re-entry", []episode{
			{lock("a", 1), 1, 2}, {lock("a", 1), 3, 4}, {unlock("a", 1), 5, 6}, {unlock("a", 1), 7, 8}, {lock("b", 2), 3, 9},
		}, porcupine.Ok},
		{"re-entry with a new token", []episode{{lock("a", 1), 1, 2}, {lock("a", 2), 3, 4}}, porcupine.Illegal},
		{"in after one of two unlocks", []episode{
			{lock("a", 1), 1, 2}, {lock("a", 1), 3, 4}, {unlock("a", 1), 5, 6}, {lock("b", 2), 7, 8}, {unlock("a", 1), 9, 10},
		}, porcupine.Illegal},
		{"unlocked by somebody else", []episode{{lock("a", 1), 1, 2}, {unlock("b", 1), 3, 4}}, porcupine.Illegal},
		{"unlocked twice", []episode{{lock("a", 1), 1, 2}, {unlock("a", 1), 3, 4}, {unlock("a", 1), 5, 6}}, porcupine.Illegal},
		{"a lease that runs out", []episode{{lock("a", 1), 1, 2}, {end("a", 1), 3, 0}, {lock("b", 2), 5, 6}}, porcupine.Ok},
		{"in before the lease runs out", []episode{{lock("a", 1), 1, 2}, {lock("b", 2), 3, 4}, {end("a", 1), 5, 0}}, porcupine.Illegal},
		{"unlocked after it had run out", []episode{
			{lock("a", 1), 1, 2}, {end("a", 1), 3, 0}, {lock("b", 2), 5, 6}, {unlock("a", 1), 7, 8},
		}, porcupine.Illegal},
		{"busy while held", []episode{{lock("a", 1), 1, 2}, {busy("b"), 3, 4}, {unlock("a", 1), 5, 6}}, porcupine.Ok},
		{"busy while free", []episode{{lock("a", 1), 1, 2}, {unlock("a", 1), 3, 4}, {busy("b"), 5, 6}}, porcupine.Illegal},
		{"busy for its holder", []episode{{lock("a", 1), 1, 2}, {busy("a"), 3, 4}}, porcupine.Illegal},
		{"in after a force", []episode{{lock("a", 1), 1, 2}, {done(locksim.OpForce, 0), 3, 3}, {lock("b", 2), 4, 5}}, porcupine.Ok},
		{"unlocked after a force", []episode{{lock("a", 1), 1, 2}, {done(locksim.OpForce, 0), 3, 3}, {unlock("a", 1), 4, 5}}, porcupine.Illegal},
		{"re-entry after a force", []episode{{lock("a", 1), 1, 2}, {done(locksim.OpForce, 0), 3, 3}, {lock("a", 1), 4, 5}}, porcupine.Illegal},
		{"a raised token", []episode{
			{lock("a", 1), 1, 2},
			{done(locksim.OpRaise, 5), 3, 3},
			{lock("a", 5), 4, 5},
			{unlock("a", 1), 6, 7},
			{unlock("a", 5), 8, 9},
			{lock("b", 6), 10, 11},
		}, porcupine.Ok},
		{"a grant that is told after its token was raised", []episode{
			{told("a", 5, 1), 1, 6}, {lock("a", 1), 2, 3}, {done(locksim.OpRaise, 5), 4, 4}, {unlock("a", 1), 7, 8}, {unlock("a", 5), 9, 10},
		}, porcupine.Ok},
		{"a grant with a token from before one that was not its own", []episode{
			{lock("b", 1), 1, 2}, {told("a", 5, 1), 3, 6}, {done(locksim.OpRaise, 5), 4, 4},
		}, porcupine.Illegal},
		{"below a raised token", []episode{
			{lock("a", 1), 1, 2}, {done(locksim.OpRaise, 5), 3, 3}, {unlock("a", 1), 4, 5}, {lock("b", 4), 6, 7},
		}, porcupine.Illegal},

		{"in after a forced writer", []episode{{lock("a", 1), 1, 2}, {done(locksim.OpForce, 0), 3, 3}, {read("b", 2), 4, 5}}, porcupine.Ok},
		{"in after forced readers", []episode{
			{read("a", 1), 1, 2}, {read("b", 1), 1, 2}, {done(locksim.OpReadForce, 0), 3, 3}, {lock("c", 2), 4, 5},
		}, porcupine.Ok},
		{"a writer beside readers of whom the other side was forced", []episode{
			{read("a", 1), 1, 2}, {done(locksim.OpForce, 0), 3, 3}, {lock("c", 2), 4, 5}, {unread("a", 1), 6, 7},
		}, porcupine.Illegal},
		{"a raised phase", []episode{
			{read("a", 1), 1, 2},
			{read("b", 1), 1, 2},
			{done(locksim.OpReadRaise, 5), 3, 3},
			{read("c", 5), 4, 5},
			{read("a", 1), 4, 5},
			{unread("a", 1), 6, 7},
			{unread("a", 1), 6, 7},
			{unread("b", 1), 6, 7},
			{unread("c", 5), 6, 7},
			{lock("d", 6), 4, 8},
		}, porcupine.Ok},
		{"a new reader with the token from before it was raised", []episode{
			{read("a", 1), 1, 2}, {done(locksim.OpReadRaise, 5), 3, 3}, {read("b", 1), 4, 5},
		}, porcupine.Illegal},

		{"readers together", []episode{
			{read("a", 1), 1, 2}, {read("b", 1), 3, 4}, {unread("a", 1), 5, 6}, {unread("b", 1), 7, 8}, {lock("c", 2), 1, 9},
		}, porcupine.Ok},
		{"a writer among readers", []episode{{read("a", 1), 1, 2}, {lock("b", 2), 3, 4}, {unread("a", 1), 5, 6}}, porcupine.Illegal},
		{"a reader beside a writer", []episode{{lock("a", 1), 1, 2}, {read("b", 2), 3, 4}, {unlock("a", 1), 5, 6}}, porcupine.Illegal},
		{"a phase with two tokens", []episode{{read("a", 1), 1, 2}, {read("b", 2), 3, 4}}, porcupine.Illegal},
		{"two phases with one token", []episode{{read("a", 1), 1, 2}, {unread("a", 1), 3, 4}, {read("b", 1), 5, 6}}, porcupine.Illegal},
		{"downgrade", []episode{
			{lock("a", 1), 1, 2},
			{read("a", 2), 3, 4},
			{unlock("a", 1), 5, 6},
			{read("b", 2), 7, 8},
			{unread("a", 2), 9, 10},
			{unread("b", 2), 11, 12},
			{lock("c", 3), 3, 13},
		}, porcupine.Ok},
		{"a writer in spite of a downgrade", []episode{
			{lock("a", 1), 1, 2}, {read("a", 2), 3, 4}, {unlock("a", 1), 5, 6}, {lock("c", 3), 7, 8}, {unread("a", 2), 9, 10},
		}, porcupine.Illegal},
		{"upgrade", []episode{{read("a", 1), 1, 2}, {lock("a", 2), 3, 4}}, porcupine.Illegal},
		{"a reader's lease that runs out", []episode{{read("a", 1), 1, 2}, {unreadSome("a", 1), 3, 0}, {lock("b", 2), 5, 6}}, porcupine.Ok},
		{"one reader's end is not another's", []episode{
			{read("a", 1), 1, 2}, {read("b", 1), 1, 2}, {unreadSome("a", 1), 3, 0}, {lock("c", 2), 5, 6}, {unread("b", 1), 7, 8},
		}, porcupine.Illegal},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, why := historyOf(test.episodes).Check(busytest.Patience); got != test.want {
				t.Errorf("%s, want %s\n%s", got, test.want, why)
			}
		})
	}
}
