package scripts

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The answers of acquire.lua and fifo_acquire.lua.
const (
	Taken     = 0 // all of them
	Busy      = 1 // all up to the first that another owner holds
	Cancelled = 3 // this attempt may not take anything any more
	Upgrade   = 4 // a reader wants to write
	Entered   = 5 // as Busy, and the process was not in the queue until now
)

// The answers of the scripts that release, for each lock, and of those that renew.
const (
	NotOurs = 0 // the lock is not the holder's
	Done    = 1
	Begun   = 2 // to a renewal that ForWaiting: the fixed lease has begun, and nothing has changed
)

// The purposes of a renewal.
const (
	ForHold    = ""      // a hold that is renewed
	ForWaiting = "wait"  // a part of a MultiLock whose fixed lease has not begun
	ForBegin   = "begin" // the fixed lease begins
	ForJoining = "join"  // another hold of the grant, which a fixed lease that begins late must not shorten
)

// The queue actions of acquire.lua.
const (
	QueueIgnore  = "n"
	QueueEnter   = "q"
	QueueMayBeIn = "Q" // enter; the process may be in it already
	PollEnter    = "p" // as QueueEnter: the process polls, so it lives even if PUBLISH does not count it
	PollMayBeIn  = "P" // as QueueMayBeIn, for a process that polls
)

// The queue actions of release.lua.
const (
	QueueStay  = "n" // leave it alone
	QueueLeave = "l" // leave it, and give up what was reserved for this process
)

// QueueWord returns a queue action as a word of a call. It allocates nothing, as a conversion would.
func QueueWord(action string) any {
	switch action {
	case QueueIgnore:
		return QueueIgnore
	case QueueEnter:
		return QueueEnter
	case QueueMayBeIn:
		return QueueMayBeIn
	case PollEnter:
		return PollEnter
	case PollMayBeIn:
		return PollMayBeIn
	default:
		return action
	}
}

// The sides of a first-come lock.
const (
	Write = "write"
	Read  = "read"
)

// Reserve is how many tokens a process gets at most when it takes a lock that more than one of its owners waits for.
const Reserve = 1000

// An Acquired is what acquire.lua answered.
type Acquired struct {
	Code   int64
	Busy   time.Duration // how long the first lock that is busy will be so at most
	Tokens []Tokens
}

// Tokens are what a script mints for a lock: one for the grant, and how many after it are reserved.
type Tokens struct{ First, Reserved int64 }

// ReadAcquire reads the answer to an acquisition of n locks. longest bounds for how long a lock is said to be busy.
func ReadAcquire(answer any, n int, longest time.Duration) (Acquired, error) {
	if text, ok := answer.(string); ok && n == 1 {
		tokens, err := ReadTokens(text)
		if err != nil {
			return Acquired{}, err
		}
		return Acquired{Code: Taken, Tokens: []Tokens{tokens}}, nil
	}
	list, ok := answer.([]any)
	if !ok || len(list) < 2 || len(list) > n+2 {
		return Acquired{}, Strange(answer)
	}
	code, isCode := list[0].(int64)
	busy, isBusy := list[1].(int64)
	if !isCode || !isBusy || code < Taken || code > Entered || (code == Taken) != (len(list) == n+2) {
		return Acquired{}, Strange(answer)
	}
	if busy < 0 {
		busy = longest.Milliseconds() // somebody has removed the expiry by hand
	}
	a := Acquired{Code: code, Busy: min(time.Duration(min(busy, longest.Milliseconds())+1)*time.Millisecond, longest)}
	for _, item := range list[2:] {
		text, _ := item.(string)
		tokens, err := ReadTokens(text)
		if err != nil {
			return Acquired{}, err
		}
		a.Tokens = append(a.Tokens, tokens)
	}
	return a, nil
}

// ReadTokens reads a token, and after a space how many more are reserved.
func ReadTokens(text string) (t Tokens, err error) {
	first, rest, more := strings.Cut(text, " ")
	if t.First, err = ReadToken(first); err != nil || !more {
		return t, err
	}
	if t.Reserved, err = strconv.ParseInt(rest, 10, 64); err != nil || t.Reserved < 0 || t.Reserved >= Reserve {
		return Tokens{}, Strange(text)
	}
	return t, nil
}

// ReadToken reads a token.
func ReadToken(text string) (int64, error) {
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil || token <= 0 {
		return 0, Strange(text)
	}
	return token, nil
}

// Strange is the error for an answer that none of the scripts gives.
func Strange(answer any) error {
	return fmt.Errorf("locking: the server answers %v to a script", answer)
}

// ReadIntegers reads an answer that must be an array of at least n integers, or for one also the integer itself.
func ReadIntegers(answer any, n int) ([]int64, error) {
	if number, ok := answer.(int64); ok && n == 1 {
		return []int64{number}, nil
	}
	list, ok := answer.([]any)
	if !ok || len(list) < n {
		return nil, Strange(answer)
	}
	numbers := make([]int64, len(list))
	for i, item := range list {
		if numbers[i], ok = item.(int64); !ok {
			return nil, Strange(answer)
		}
	}
	return numbers, nil
}

// Granted is how many locks an answer to an acquisition grants: one if it is a token itself, else as many as follow code and
// time in a list.
func Granted(answer any) int {
	if _, token := answer.(string); token {
		return 1
	}
	list, _ := answer.([]any)
	return max(len(list)-2, 0)
}
