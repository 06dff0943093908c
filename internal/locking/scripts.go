package locking

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed wake.lua
	wakeSource string
	//go:embed mint.lua
	mintSource string
	//go:embed enqueue.lua
	enqueueSource string
	//go:embed acquire_free.lua
	acquireFreeSource string
	//go:embed acquire.lua
	acquireSource string
	//go:embed handoff.lua
	handoffSource string
	//go:embed release_last.lua
	releaseLastSource string
	//go:embed release.lua
	releaseSource string
	//go:embed renew.lua
	renewSource string
	//go:embed token.lua
	tokenSource string
	//go:embed level.lua
	levelSource string
	//go:embed inspect.lua
	inspectSource string
	//go:embed force.lua
	forceSource string

	acquireScript = newScript(acquireFreeSource + mintSource + enqueueSource + acquireSource)
	handoffScript = newScript(mintSource + enqueueSource + wakeSource + handoffSource)
	releaseScript = newScript(releaseLastSource + enqueueSource + wakeSource + releaseSource)
	renewScript   = newScript(renewSource)
	tokenScript   = newScript(mintSource + tokenSource)
	levelScript   = newScript(levelSource)
	inspectScript = newScript(inspectSource)
	forceScript   = newScript(wakeSource + forceSource)
)

// What acquire.lua answers.
const (
	codeTaken     = 0 // all of them
	codeBusy      = 1 // up to the first that is somebody else's
	codeGone      = 2 // up to the first that is no longer ours to re-enter
	codeCancelled = 3 // this attempt may not take anything any more
)

// What release.lua answers for each lock.
const (
	releasedNotOurs  = 0
	releasedDone     = 1
	releasedOutdated = 2
)

// An attempt is the number of one talk to the server, which grows with every one of the process, as a
// script argument that counts how often the client puts it on the wire. We cannot forbid a client to
// send a script again, but so we know: sent 0 times, nothing can have happened; sent once and answered,
// no copy of it is still under way; sent more often, a copy may arrive at any time.
type attempt struct {
	number int64
	sent   atomic.Int32
}

// giveUp tells whether the attempt has never been sent, and never will be.
func (a *attempt) giveUp() bool { return a.sent.CompareAndSwap(0, -1) }

// MarshalBinary is called by the client each time it writes the argument.
func (a *attempt) MarshalBinary() ([]byte, error) {
	for {
		sent := a.sent.Load()
		if sent < 0 {
			return nil, ErrNoAnswer // nobody waits for one any more
		}
		if a.sent.CompareAndSwap(sent, sent+1) {
			break
		}
	}
	return strconv.AppendInt(nil, a.number, 10), nil
}

// A script knows the words that its calls begin with, in the form that the client wants. There are two texts
// of it: for servers where PUBLISH counts everybody who listens, and for others.
type script struct {
	source, hash any
	uncounted    *script
}

func newScript(source string) *script {
	counted, uncounted := "local counts = true\n"+source, "local counts = false\n"+source
	return &script{
		source: counted, hash: redis.NewScript(counted).Hash(),
		uncounted: &script{source: uncounted, hash: redis.NewScript(uncounted).Hash()},
	}
}

// firstKey is where a call has its first key, which says where it must go.
const firstKey = 3

// A scriptCall is a command that runs a script by its hash.
type scriptCall []any

// newCall begins a call with that many keys and arguments, which are to be added.
func (s *script) newCall(keys, args int) scriptCall {
	return append(make(scriptCall, 0, 3+keys+args), "evalsha", s.hash, keys)
}

// inFull returns the call with the text of the script in place of its hash.
func (s *script) inFull(call scriptCall) scriptCall {
	return append(scriptCall{"eval", s.source}, call[2:]...)
}

// eval runs a script by its hash, and by its text where the server does not know it (any more). The
// attempt is among the arguments.
func (l *Locks) eval(ctx context.Context, script *script, try *attempt, call scriptCall) (any, error) {
	script = l.variant(script, call)
	answer, err := l.rdb.Do(ctx, call...).Result()
	if isNoScript(err) {
		try.sent.CompareAndSwap(1, 0) // it was sent once, and has been answered: that copy did nothing
		answer, err = l.rdb.Do(ctx, script.inFull(call)...).Result()
	}
	l.noticeError(err)
	return answer, err
}

// evalAll runs many script calls in one round trip. Where the server does not know a script, the whole round trip is repeated
// once with the scripts in full, for they bear that; what is not answered then has its own error.
func (l *Locks) evalAll(ctx context.Context, errands []errand) []*redis.Cmd {
	answers, unknown := l.evalOnce(ctx, errands, false)
	if unknown {
		answers, _ = l.evalOnce(ctx, errands, true)
	}
	return answers
}

// evalOnce is evalAll without a second try. In full, every script call brings its script, for each may go to another
// node.
func (l *Locks) evalOnce(ctx context.Context, errands []errand, full bool) (answers []*redis.Cmd, unknown bool) {
	answers = make([]*redis.Cmd, len(errands))
	pipe := l.rdb.Pipeline()
	for i, e := range errands {
		script, call := l.variant(e.script, e.call), e.call
		if full {
			call = script.inFull(call)
		}
		answers[i] = pipe.Do(ctx, call...)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for _, answer := range answers {
		unknown = unknown || isNoScript(answer.Err())
		l.noticeError(answer.Err())
	}
	return answers, unknown
}

func isNoScript(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") }

// integers reads an answer that must be an array of at least n integers.
func integers(answer any, n int) ([]int64, error) {
	list, ok := answer.([]any)
	if !ok || len(list) < n {
		return nil, fmt.Errorf("locking: the server answers %v to a script", answer)
	}
	numbers := make([]int64, len(list))
	for i, item := range list {
		if numbers[i], ok = item.(int64); !ok {
			return nil, fmt.Errorf("locking: the server answers %v to a script", answer)
		}
	}
	return numbers, nil
}
